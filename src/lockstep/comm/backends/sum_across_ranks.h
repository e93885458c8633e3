#pragma once

#include <cstddef>
#include <span>

namespace lockstep::comm {

/// Replaces element i of every copy by the sum of element i over all copies, added in order;
/// `copies` are the ranks' arrays of `count` floats, 64-byte aligned.
void sum_across_ranks(std::span<float* const> copies, std::size_t count);

/// The same sums, written to copies[root] alone.
void sum_into_root(std::span<float* const> copies, std::size_t root, std::size_t count);

}  // namespace lockstep::comm
