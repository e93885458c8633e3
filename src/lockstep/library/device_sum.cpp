#include "lockstep/library/device_sum.h"

#include <algorithm>
#include <vector>

namespace lockstep::library {
namespace {

constexpr std::size_t kFloats = std::size_t{1} << 20;

/// A part of a tensor, and where it is in the buffer.
struct Piece {
  torch::Tensor of_tensor;
  torch::Tensor of_buffer;
};

}  // namespace

bool DeviceSum::takes(const torch::Tensor& tensor) const {
  return communicator_.residence() == comm::Residence::kDevice && !tensor.is_cpu() &&
         tensor.scalar_type() == torch::kFloat && tensor.is_non_overlapping_and_dense();
}

void DeviceSum::sum(std::span<const torch::Tensor> tensors) {
  const torch::NoGradGuard no_grad;
  if (buffer_.empty()) buffer_ = communicator_.allocate(kFloats);
  std::vector<Piece> pieces;
  std::size_t used = 0;
  const auto sum_pieces = [&] {
    communicator_.start_sum(buffer_.first(used));
    communicator_.queue_finish();
    for (const Piece& piece : pieces) piece.of_tensor.copy_(piece.of_buffer);
    pieces.clear();
    used = 0;
  };
  for (const torch::Tensor& tensor : tensors) {
    const auto flat = tensor.detach().as_strided({tensor.numel()}, {1});
    const auto count = static_cast<std::size_t>(tensor.numel());
    for (std::size_t at = 0; at < count;) {
      const std::size_t size = std::min(count - at, kFloats - used);
      const auto floats = static_cast<std::int64_t>(size);
      pieces.push_back({flat.narrow(0, static_cast<std::int64_t>(at), floats),
                        torch::from_blob(buffer_.data() + used, {floats}, flat.options())});
      pieces.back().of_buffer.copy_(pieces.back().of_tensor);
      at += size;
      used += size;
      if (used == kFloats) sum_pieces();
    }
  }
  if (used > 0) sum_pieces();
  communicator_.confirm();
}

}  // namespace lockstep::library
