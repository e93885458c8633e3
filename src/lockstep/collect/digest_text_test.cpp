#include "lockstep/collect/digest_text.h"

#include <gtest/gtest.h>

#include "lockstep/base/rng.h"

namespace lockstep::collect {
namespace {

RunDigest digest_of_made_up_steps(int workers) {
  Rng rng(11);
  StepDigestBuilder steps(3000 * workers, workers);
  analyze::StepBreakdownBuilder breakdown(workers);
  for (std::int64_t s = 0; s < 3000; ++s) {
    for (int rank = 0; rank < workers; ++rank) {
      record::StepTimes one;
      one.step = s;
      one.rank = rank;
      one.start_ns = 1'000'000'000 + s * 20'000'000;
      const auto ready_after = static_cast<std::int64_t>(rng.below(9'000'000));
      one.ready_ns = workers > 1 ? one.start_ns + ready_after : 0;
      for (double& phase : one.phase_s) phase = rng.uniform() / 300;
      for (const double phase : one.phase_s) one.total_s += phase;
      steps.add(one);
      breakdown.add({{one}});
    }
  }
  RunDigest digest;
  digest.steps = steps.finish();
  digest.breakdown = breakdown.result();
  return digest;
}

TEST(DigestText, GivesBackWhatItWasMadeFrom) {
  for (const int workers : {1, 3}) {
    const RunDigest before = digest_of_made_up_steps(workers);
    const std::string text = digest_text(before);
    RunDigest after;
    ASSERT_TRUE(read_digest(text, after));
    EXPECT_EQ(digest_text(after), text);
    ASSERT_EQ(after.steps.bins.size(), before.steps.bins.size());
    EXPECT_EQ(after.steps.bins[7].longest_s, before.steps.bins[7].longest_s);
    EXPECT_EQ(after.steps.bins[7].busy, before.steps.bins[7].busy);
    EXPECT_EQ(after.steps.slowest.front().phase_s, before.steps.slowest.front().phase_s);
    EXPECT_EQ(after.breakdown.mean.step, before.breakdown.mean.step);
    EXPECT_EQ(after.breakdown.slowest.has_value(), workers > 1);
  }
}

TEST(DigestText, LeavesTheDigestAsItIsWhenTheTextIsNone) {
  const std::string whole = digest_text(digest_of_made_up_steps(2));
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[1,2]"),
                                  whole.substr(0, whole.size() / 2)}) {
    RunDigest digest;
    digest.steps.steps = 5;
    EXPECT_FALSE(read_digest(text, digest));
    EXPECT_EQ(digest.steps.steps, 5);
  }
}

}  // namespace
}  // namespace lockstep::collect
