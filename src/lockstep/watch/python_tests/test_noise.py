"""How often gradient norms are sampled, by what a sample costs."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch.noise import NoiseSampler  # noqa: E402

STEP = 10_000_000  # ns


class Network:
    pass


def period_after(costs):
    """Samples that cost `costs`, one per period, after the first steps."""
    network = Network()
    sampler = NoiseSampler(None, None, network)
    sampler.averaged = 1000
    now = sampler.sampled_at
    for cost in costs:
        now += sampler.period * STEP
        sampler.cost_ns = cost
        sampler._adapt(now)
    return sampler.period


class Period(unittest.TestCase):
    def test_grows_until_samples_cost_less_than_their_share(self):
        # 1 ms of 32 steps of 10 ms is 0.3 %, of 16 steps it is 0.6 %.
        self.assertEqual(period_after([1_000_000] * 20), 32)

    def test_shrinks_where_samples_are_cheap(self):
        self.assertEqual(period_after([10_000] * 20), 4)

    def test_is_not_moved_by_interruptions(self):
        self.assertEqual(period_after([200_000, 200_000, 200_000, 30_000_000] * 10), 8)

    def test_ends_at_the_longest(self):
        self.assertEqual(period_after([10**9] * 20), 256)


if __name__ == "__main__":
    unittest.main()
