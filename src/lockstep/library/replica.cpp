#include "lockstep/library/replica.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <sstream>
#include <unordered_set>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"

namespace lockstep::library {
namespace {

std::string describe_tensor(const ModuleTensor& entry) {
  std::ostringstream out;
  out << entry.name << ' ' << entry.tensor.sizes() << ' ' << entry.tensor.scalar_type()
      << (!entry.parameter               ? " buffer"
          : entry.tensor.requires_grad() ? ""
                                         : " frozen");
  return out.str();
}

/// The first line that differs; empty where the texts are equal.
std::string first_difference(const std::string& mine, const std::string& root, int rank) {
  std::istringstream a(mine), b(root);
  while (true) {
    std::string one, other;
    const bool more = static_cast<bool>(std::getline(a, one));
    const bool root_more = static_cast<bool>(std::getline(b, other));
    if (!more && !root_more) return "";
    if (one == other && more == root_more) continue;
    return fmt::format("rank {} has {}, rank 0 has {}", rank, more ? one : "none there",
                       root_more ? other : "none there");
  }
}

std::string broadcast_text(std::string text, comm::Communicator& communicator) {
  auto length = static_cast<std::uint64_t>(text.size());
  communicator.broadcast(std::as_writable_bytes(std::span(&length, 1)), 0);
  text.resize(length);
  communicator.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

/// All bytes of the tensors on the device of the first, and one more if they are odd: one copy from
/// a device, however many tensors there are.
torch::Tensor bytes_of(std::span<const torch::Tensor> tensors) {
  std::vector<torch::Tensor> parts;
  std::size_t count = 0;
  for (const torch::Tensor& tensor : tensors) {
    const auto flat = tensor.detach().contiguous().reshape({-1});
    parts.push_back(flat.view(torch::kByte).to(tensors[0].device()));
    count += tensor.nbytes();
  }
  if (count % 2 != 0) parts.push_back(torch::zeros({1}, parts[0].options()));
  return torch::cat(parts);
}

/// Gives the tensors the values of these bytes, which are on the device of the first.
void take_bytes(const torch::Tensor& bytes, std::span<const torch::Tensor> tensors) {
  const torch::NoGradGuard no_grad;
  std::int64_t at = 0;
  for (torch::Tensor target : tensors) {
    const auto size = static_cast<std::int64_t>(target.nbytes());
    auto part = bytes.narrow(0, at, size);
    if (at % static_cast<std::int64_t>(target.element_size()) != 0) {
      part = part.clone();  // a copy is aligned for its type
    }
    target.copy_(part.view(target.scalar_type()).reshape(target.sizes()));
    at += size;
  }
}

/// Contiguous on the host; a copy unless it is so already.
torch::Tensor on_host(const torch::Tensor& tensor) {
  return tensor.detach().cpu().contiguous();
}

}  // namespace

std::vector<ModuleTensor> tensors_of(const torch::nn::Module& module) {
  std::vector<ModuleTensor> tensors;
  std::unordered_set<const void*> seen;
  const auto add = [&](const auto& named, bool parameter) {
    for (const auto& entry : named) {
      const torch::Tensor& tensor = entry.value();
      if (!tensor.defined() || !seen.insert(tensor.unsafeGetTensorImpl()).second) continue;
      tensors.push_back({entry.key(), tensor, parameter});
    }
  };
  add(module.named_parameters(), true);
  add(module.named_buffers(), false);
  return tensors;
}

void require_own_device(torch::Device network, torch::Device own, const std::string& title,
                        const comm::Communicator& communicator) {
  if (network == own || communicator.residence() == comm::Residence::kHost) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} is on {}, but this rank uses {}", title,
                          network.is_cpu() ? "the CPU" : network.str(), own.str()),
              "call module->to(job.device()) before DataParallel, or hide the GPUs with "
              "CUDA_VISIBLE_DEVICES=");
}

void require_same_tensors(const std::vector<ModuleTensor>& tensors, const std::string& title,
                          comm::Communicator& communicator) {
  std::string mine;
  for (const ModuleTensor& entry : tensors) mine += describe_tensor(entry) + "\n";
  const auto digests = communicator.gather_all(digest(std::as_bytes(std::span(mine))));
  bool same = true;
  for (const std::uint64_t one : digests) same = same && one == digests[0];
  if (same) return;
  const std::string of_root = broadcast_text(mine, communicator);
  std::array<char, 512> note{};
  const std::string difference = first_difference(mine, of_root, communicator.rank());
  difference.copy(note.data(), note.size() - 1);
  for (const auto& text : communicator.gather_all(note)) {
    if (text[0] == '\0') continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} differs between ranks: {}", title, text.data()),
                "build the same module on every rank, and freeze the same parameters");
  }
}

void broadcast_values(std::span<const torch::Tensor> tensors, int root,
                      comm::Communicator& communicator) {
  const torch::NoGradGuard no_grad;
  std::vector<std::byte> bytes;
  for (const torch::Tensor& tensor : tensors) {
    const torch::Tensor host = on_host(tensor);
    const auto* data = static_cast<const std::byte*>(host.data_ptr());
    bytes.insert(bytes.end(), data, data + host.nbytes());
  }
  communicator.broadcast(bytes, root);
  if (communicator.rank() == root) return;
  std::size_t at = 0;
  for (const torch::Tensor& tensor : tensors) {
    torch::Tensor host = torch::empty(tensor.sizes(), tensor.options().device(torch::kCPU));
    std::memcpy(host.data_ptr(), bytes.data() + at, host.nbytes());
    at += host.nbytes();
    torch::Tensor target = tensor;
    target.copy_(host);
  }
}

std::size_t floats_for(std::span<const torch::Tensor> tensors) {
  std::size_t bytes = 0;
  for (const torch::Tensor& tensor : tensors) bytes += tensor.nbytes();
  return (bytes + 1) / 2;
}

void encode_bytes(std::span<const torch::Tensor> tensors, std::span<float> floats) {
  if (tensors.empty()) return;
  const torch::Tensor bytes = bytes_of(tensors).cpu();
  const auto* const data = static_cast<const unsigned char*>(bytes.data_ptr());
  for (std::size_t i = 0; i < bytes.nbytes(); i += 2) {
    floats[i / 2] = static_cast<float>(data[i] | data[i + 1] << 8);
  }
}

void decode_bytes(std::span<const float> floats, std::span<const torch::Tensor> tensors) {
  if (tensors.empty()) return;
  torch::Tensor bytes =
      torch::empty({2 * static_cast<std::int64_t>(floats_for(tensors))}, torch::kByte);
  auto* const data = static_cast<unsigned char*>(bytes.data_ptr());
  for (std::size_t i = 0; i < bytes.nbytes(); i += 2) {
    const auto value = static_cast<unsigned>(floats[i / 2]);
    data[i] = static_cast<unsigned char>(value);
    data[i + 1] = static_cast<unsigned char>(value >> 8);
  }
  take_bytes(bytes.to(tensors[0].device()), tensors);
}

void encode_bytes(std::span<const torch::Tensor> tensors, const torch::Tensor& floats) {
  if (tensors.empty()) return;
  const auto pairs = bytes_of(tensors).view({-1, 2}).to(torch::kFloat);
  const auto values = pairs.select(1, 0).add(pairs.select(1, 1), 256);
  floats.narrow(0, 0, values.numel()).copy_(values);
}

void decode_bytes(const torch::Tensor& floats, std::span<const torch::Tensor> tensors) {
  if (tensors.empty()) return;
  const auto values = floats.narrow(0, 0, static_cast<std::int64_t>(floats_for(tensors)));
  const auto high = values.div(256).floor_();  // exact: 16 bits, and a power of two
  const auto low = values.sub(high, 256);
  take_bytes(torch::stack({low, high}, 1).to(torch::kByte).reshape({-1}), tensors);
}

}  // namespace lockstep::library
