#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/base/units.h"

namespace lockstep::comm {

/// The place of each parameter in the flat buffers, and how these are cut into buckets.
///
/// Backward reaches parameters in reverse order of use, so the flat layout is reversed too: the
/// last parameter comes first, and each bucket is one contiguous range that fills up while backward
/// runs.
struct BucketPlan {
  struct Bucket {
    std::size_t begin = 0;  ///< floats
    std::size_t end = 0;
    std::vector<std::size_t> parameters;  ///< indices, in the order they lie in the buffer
  };

  std::vector<std::size_t> offset_of;  ///< by parameter index, floats; multiples of 16 (64 bytes)
  std::vector<std::size_t> bucket_of;  ///< by parameter index
  std::vector<Bucket> buckets;         ///< in the order they fill
  std::size_t total = 0;               ///< floats, with the gaps that alignment leaves and the tail
  /// First float of the tail: `tail` floats at the end of the last bucket that travel with the
  /// gradients.
  std::size_t tail_begin = 0;
};

/// `sizes` are element counts of the parameters in order of use. A bucket closes once it has at
/// least `bucket` bytes; a parameter is never split, so one larger than the limit gets a bucket of
/// its own or ends one.
BucketPlan plan_buckets(std::span<const std::int64_t> sizes, Bytes bucket, std::size_t tail = 0);

}  // namespace lockstep::comm
