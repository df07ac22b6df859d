import assert from 'node:assert/strict';
import test from 'node:test';
import { tooFew } from './few.js';

test('a rule seen on too few inputs is refused', () => {
  assert.equal(tooFew(4).code, 'too-few-observations');
  assert.equal(tooFew(5), undefined);
  assert.equal(tooFew(0), undefined);
});
