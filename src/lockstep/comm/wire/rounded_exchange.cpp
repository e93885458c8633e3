#include "lockstep/comm/wire/rounded_exchange.h"

#include <algorithm>

#include "lockstep/comm/wire/rounded_message.h"

namespace lockstep::comm {

RoundedExchange::RoundedExchange(std::span<float> values, Wire wire, int rank, int ranks)
    : values_(values),
      wire_(wire),
      rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      part_((values.size() + ranks_ - 1) / ranks_),
      outgoing_(std::make_unique<std::byte[]>(ranks_ * message_bytes())),
      incoming_(std::make_unique<std::byte[]>(ranks_ * message_bytes())) {
  for (std::size_t r = 0; r < ranks_; ++r) {
    pack_rounded(wire_, part_of(r), outgoing_.get() + r * message_bytes());
  }
}

std::size_t RoundedExchange::message_bytes() const {
  return rounded_message_bytes(part_);
}

std::span<float> RoundedExchange::part_of(std::size_t rank) const {
  const std::size_t begin = std::min(values_.size(), rank * part_);
  return values_.subspan(begin, std::min(part_, values_.size() - begin));
}

std::span<std::byte> RoundedExchange::sum() {
  const std::span<float> own = part_of(rank_);
  for (std::size_t r = 0; r < ranks_; ++r) {
    unpack_rounded(wire_, incoming_.get() + r * message_bytes(), r > 0, own);
  }
  pack_rounded(wire_, own, outgoing_.get());
  return {outgoing_.get(), message_bytes()};
}

void RoundedExchange::store() {
  for (std::size_t r = 0; r < ranks_; ++r) {
    unpack_rounded(wire_, incoming_.get() + r * message_bytes(), false, part_of(r));
  }
}

}  // namespace lockstep::comm
