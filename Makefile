# A short way to type `python3 make.py …`; extra arguments go in ARGS: make test ARGS="-k softmax -x"
PYTHON ?= python3
SEEDS ?= 3
EPOCHS ?= 10

.PHONY: run test test-all test-quick test-browser test-web test-numeric test-gpu faults lint check bench attack load soak models checkpoints scripts screenshots reproduce
run test test-all test-quick test-browser test-web test-numeric test-gpu faults lint check bench attack load soak models checkpoints scripts screenshots:
	@$(PYTHON) make.py $@ $(ARGS)

reproduce:
	@$(PYTHON) make.py $@ --csv "$(CSV)" --seeds $(SEEDS) --epochs $(EPOCHS) $(ARGS)
