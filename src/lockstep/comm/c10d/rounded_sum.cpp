#include "lockstep/comm/c10d/rounded_sum.h"

#include <algorithm>

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
  for (std::size_t r = 0; r < ranks_; ++r) {
    pack_rounded(wire_, part_of(r), bytes_of(sent_) + r * message_bytes());
  }
  std::vector<std::int64_t> even;
  work_ = group_.alltoall_base(received_, sent_, even, even);
}

std::span<float> RoundedSum::part_of(std::size_t rank) const {
  const std::size_t begin = std::min(values_.size(), rank * part_);
  return values_.subspan(begin, std::min(part_, values_.size() - begin));
}

void RoundedSum::meet() {
  work_->wait();
  const auto own = static_cast<std::size_t>(group_.getRank());
  const std::span<float> sum = part_of(own);
  for (std::size_t r = 0; r < ranks_; ++r) {
    unpack_rounded(wire_, bytes_of(received_) + r * message_bytes(), r > 0, sum);
  }
  std::vector<at::Tensor> input{sent_.narrow(0, 0, static_cast<std::int64_t>(message_bytes()))};
  pack_rounded(wire_, sum, bytes_of(input[0]));
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
    unpack_rounded(wire_, bytes_of(received_) + r * message_bytes(), false, part_of(r));
  }
}

}  // namespace lockstep::comm
