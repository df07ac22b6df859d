// A guard refuses a rule which was seen on too few inputs.

// A rule that was seen on fewer inputs may fit them by chance.
export const LEAST = 5;

// Why so many inputs are too few; undefined where they are enough. Of nothing at all the guard
// beneath says so itself.
export function tooFew(inputs) {
  if (inputs === 0 || inputs >= LEAST) return undefined;
  return {
    code: 'too-few-observations',
    message: `the rule was seen on ${inputs} inputs, and ${LEAST} are the least; record more`,
    at: '/on',
  };
}
