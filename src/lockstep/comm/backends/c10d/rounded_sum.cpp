#include "lockstep/comm/backends/c10d/rounded_sum.h"

namespace lockstep::comm {

at::Tensor as_tensor(std::span<const std::byte> bytes) {
  return torch::from_blob(const_cast<std::byte*>(bytes.data()),
                          {static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
}

RoundedSum::RoundedSum(c10d::ProcessGroupGloo& group, std::span<float> values, Wire wire)
    : group_(group), exchange_(values, wire, group.getRank(), group.getSize()) {
  at::Tensor received = as_tensor(exchange_.incoming());
  at::Tensor sent = as_tensor(exchange_.outgoing());
  std::vector<std::int64_t> even;
  work_ = group_.alltoall_base(received, sent, even, even);
}

void RoundedSum::proceed() {
  std::vector<at::Tensor> input{as_tensor(exchange_.sum())};
  std::vector<std::vector<at::Tensor>> output(1);
  const std::size_t bytes = exchange_.message_bytes();
  for (std::size_t r = 0; r < static_cast<std::size_t>(group_.getSize()); ++r) {
    output[0].push_back(as_tensor(exchange_.incoming().subspan(r * bytes, bytes)));
  }
  work_ = group_.allgather(output, input);
}

}  // namespace lockstep::comm
