/** As in tests/closeness.py: another road to the same number differs by less than this, relatively. */
const SAME_FUNCTION = 1e-9;

/** Whether two numbers are one result by two roads. @param {number} actual @param {number} expected */
export const isSame = (actual, expected) => Math.abs(actual - expected) <= SAME_FUNCTION * Math.abs(expected);
