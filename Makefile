# A short way to type `python3 make.py …`; extra arguments go in ARGS: make test ARGS="-k softmax -x"
PYTHON ?= python3

.PHONY: run test lint bench test-gpu
run test lint bench test-gpu:
	@$(PYTHON) make.py $@ $(ARGS)
