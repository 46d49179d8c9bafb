# A short way to type `python3 make.py …`; extra arguments go in ARGS: make test ARGS="-k softmax -x"
PYTHON ?= python3

.PHONY: run test test-all test-quick test-browser test-web test-numeric test-gpu faults lint docs check bench attack load soak models folders checkpoints scripts screenshots
run test test-all test-quick test-browser test-web test-numeric test-gpu faults lint docs check bench attack load soak models folders checkpoints scripts screenshots:
	@$(PYTHON) make.py $@ $(ARGS)
