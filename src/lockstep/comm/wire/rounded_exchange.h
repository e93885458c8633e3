#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "lockstep/comm/wire/half_floats.h"

namespace lockstep::comm {

/// The data of one all-reduce of floats that travel in 16 bits, for libraries that cannot do it
/// themselves: each rank receives its part of the values from all ranks (all-to-all), sums it as
/// floats in rank order, and sends the sum to all (all-gather). 2 (N-1)/N S bytes per rank for S
/// bytes of 16-bit values, as with a ring. Every value is rounded twice: before the sum and after
/// it. All ranks get the same bits.
class RoundedExchange {
 public:
  /// Packs the values. They must stay valid until store().
  RoundedExchange(std::span<float> values, Wire wire, int rank, int ranks);

  /// Bytes from one rank to another, in both exchanges.
  std::size_t message_bytes() const;
  /// The messages of the all-to-all, one per rank.
  std::span<std::byte> outgoing() { return {outgoing_.get(), ranks_ * message_bytes()}; }
  /// Where both exchanges put what this rank receives, one message per rank.
  std::span<std::byte> incoming() { return {incoming_.get(), ranks_ * message_bytes()}; }
  /// After the all-to-all: sums, and returns the message of this rank for the all-gather.
  std::span<std::byte> sum();
  /// After the all-gather: writes the sums into the values.
  void store();

 private:
  std::span<float> part_of(std::size_t rank) const;

  std::span<float> values_;
  Wire wire_;
  std::size_t rank_;
  std::size_t ranks_;
  std::size_t part_;  ///< floats that a rank sums
  std::unique_ptr<std::byte[]> outgoing_;
  std::unique_ptr<std::byte[]> incoming_;
};

}  // namespace lockstep::comm
