#include "lockstep/comm/wire/bucket_plan.h"

#include <algorithm>

namespace lockstep::comm {
namespace {

/// A cache line: no two parameters share one, and vector loads are aligned.
constexpr std::size_t kAlignment = 16;

std::size_t round_up(std::size_t count) {
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

BucketPlan plan_buckets(std::span<const std::int64_t> sizes, Bytes bucket, std::size_t tail) {
  const std::size_t limit = std::max<std::size_t>(1, bucket.count / sizeof(float));
  BucketPlan plan;
  plan.offset_of.resize(sizes.size());
  plan.bucket_of.resize(sizes.size());
  plan.buckets.emplace_back();
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (plan.total - plan.buckets.back().begin >= limit) {
      plan.buckets.back().end = plan.total;
      plan.buckets.push_back({.begin = plan.total, .end = plan.total, .parameters = {}});
    }
    plan.offset_of[i] = plan.total;
    plan.bucket_of[i] = plan.buckets.size() - 1;
    plan.buckets.back().parameters.push_back(i);
    plan.total += round_up(static_cast<std::size_t>(sizes[i]));
  }
  plan.tail_begin = plan.total;
  plan.total += round_up(tail);
  plan.buckets.back().end = plan.total;
  return plan;
}

}  // namespace lockstep::comm
