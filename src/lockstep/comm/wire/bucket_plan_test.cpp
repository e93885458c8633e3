#include "lockstep/comm/wire/bucket_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/base/rng.h"

namespace lockstep::comm {
namespace {

TEST(BucketPlan, FillsBucketsInReverseOrderOfUse) {
  const std::vector<std::int64_t> sizes{16, 32, 16};
  const BucketPlan plan = plan_buckets(sizes, Bytes{64});
  ASSERT_EQ(plan.buckets.size(), 3u);
  EXPECT_EQ(plan.buckets[0].parameters, std::vector<std::size_t>{2});
  EXPECT_EQ(plan.offset_of, (std::vector<std::size_t>{48, 16, 0}));
  EXPECT_EQ(plan.total, 64u);
}

TEST(BucketPlan, GivesATensorLargerThanTheLimitToOneBucket) {
  const std::vector<std::int64_t> sizes{10, 1'000'000, 10};
  const BucketPlan plan = plan_buckets(sizes, Bytes{4096});
  ASSERT_EQ(plan.buckets.size(), 2u);
  EXPECT_EQ(plan.buckets[0].parameters, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(plan.buckets[1].parameters, (std::vector<std::size_t>{0}));
}

TEST(BucketPlan, PutsTheTailAtTheEndOfTheLastBucket) {
  const std::vector<std::int64_t> sizes{5};
  const BucketPlan plan = plan_buckets(sizes, Bytes{1}, 4);
  ASSERT_EQ(plan.buckets.size(), 1u);
  EXPECT_EQ(plan.tail_begin, 16u);
  EXPECT_EQ(plan.buckets[0].end, 32u);
}

TEST(BucketPlan, CoversEveryFloatOnceForAnySizes) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> sizes(rng.below(40));
    for (auto& size : sizes) size = static_cast<std::int64_t>(rng.below(5000));
    const BucketPlan plan = plan_buckets(sizes, Bytes{rng.below(20'000)}, rng.below(20));
    std::size_t at = 0;
    std::vector<int> seen(sizes.size());
    for (const auto& bucket : plan.buckets) {
      ASSERT_EQ(bucket.begin, at);
      for (std::size_t parameter : bucket.parameters) {
        ++seen[parameter];
        ASSERT_EQ(plan.offset_of[parameter] % 16, 0u);
        ASSERT_GE(plan.offset_of[parameter], at);
        at = plan.offset_of[parameter] + static_cast<std::size_t>(sizes[parameter]);
        ASSERT_LE(at, bucket.end);
      }
      at = bucket.end;
    }
    ASSERT_EQ(at, plan.total);
    ASSERT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

}  // namespace
}  // namespace lockstep::comm
