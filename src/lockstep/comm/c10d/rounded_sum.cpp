#include "lockstep/comm/c10d/rounded_sum.h"

#include <algorithm>
#include <cstring>

namespace lockstep::comm {
namespace {

std::byte* bytes_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

}  // namespace

RoundedSum::RoundedSum(c10d::ProcessGroupGloo& group, std::span<float> values, Wire wire)
    : group_(group),
      values_(values),
      wire_(wire),
      ranks_(static_cast<std::size_t>(group.getSize())),
      part_((values.size() + ranks_ - 1) / ranks_) {
  const auto total = static_cast<std::int64_t>(ranks_ * message_bytes());
  sent_ = torch::empty({total}, torch::kUInt8);
  received_ = torch::empty({total}, torch::kUInt8);
  for (std::size_t r = 0; r < ranks_; ++r) pack(part_of(r), bytes_of(sent_) + r * message_bytes());
  std::vector<std::int64_t> even;
  work_ = group_.alltoall_base(received_, sent_, even, even);
}

std::span<float> RoundedSum::part_of(std::size_t rank) const {
  const std::size_t begin = std::min(values_.size(), rank * part_);
  return values_.subspan(begin, std::min(part_, values_.size() - begin));
}

void RoundedSum::pack(std::span<const float> values, std::byte* message) const {
  const float scale = wire_scale(wire_, values.data(), values.size());
  std::memcpy(message, &scale, sizeof scale);
  encode(wire_, values.data(), values.size(), scale,
         reinterpret_cast<std::uint16_t*>(message + sizeof scale));
}

void RoundedSum::unpack(const std::byte* message, bool add, std::span<float> values) const {
  float scale = 0;
  std::memcpy(&scale, message, sizeof scale);
  decode(wire_, reinterpret_cast<const std::uint16_t*>(message + sizeof scale), values.size(),
         scale, add, values.data());
}

void RoundedSum::meet() {
  work_->wait();
  const auto own = static_cast<std::size_t>(group_.getRank());
  const std::span<float> sum = part_of(own);
  for (std::size_t r = 0; r < ranks_; ++r) {
    unpack(bytes_of(received_) + r * message_bytes(), r > 0, sum);
  }
  std::vector<at::Tensor> input{sent_.narrow(0, 0, static_cast<std::int64_t>(message_bytes()))};
  pack(sum, bytes_of(input[0]));
  std::vector<std::vector<at::Tensor>> output(1);
  for (std::size_t r = 0; r < ranks_; ++r) {
    output[0].push_back(received_.narrow(0, static_cast<std::int64_t>(r * message_bytes()),
                                         static_cast<std::int64_t>(message_bytes())));
  }
  work_ = group_.allgather(output, input);
}

void RoundedSum::finish() {
  work_->wait();
  for (std::size_t r = 0; r < ranks_; ++r) {
    unpack(bytes_of(received_) + r * message_bytes(), false, part_of(r));
  }
}

}  // namespace lockstep::comm
