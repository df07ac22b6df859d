import unittest

from few import too_few


class TooFew(unittest.TestCase):
    def test_a_rule_seen_on_too_few_inputs_is_refused(self):
        self.assertIn("4 inputs", too_few(4))
        self.assertIsNone(too_few(5))
        self.assertIsNone(too_few(0))


if __name__ == "__main__":
    unittest.main()
