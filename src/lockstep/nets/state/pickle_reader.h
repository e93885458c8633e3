#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::nets {

struct PickledValue;

/// What a pickle in a file of torch.save can contain, as far as it matters here.
struct PickledList {
  std::vector<PickledValue> items;
};
struct PickledDict {
  std::vector<std::pair<PickledValue, PickledValue>> items;
};
/// A Python class or function by name, or an object of one that is of no interest.
struct PickledObject {
  std::string name;
};
/// The memory of a tensor: a record of the archive.
struct PickledStorage {
  torch::Dtype type = torch::kFloat;
  std::string key;
};
struct PickledValue : std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                   PickledObject, PickledStorage, torch::Tensor,
                                   std::shared_ptr<PickledList>, std::shared_ptr<PickledDict>> {
  using variant::variant;
};

/// Reads a pickle without running what it names: it reads tensors, dictionaries, lists and plain
/// values; any other object becomes a PickledObject. LibTorch's own reader is not used because it
/// ends the process on an OrderedDict (1.13), which is what `state_dict()` returns.
///
/// `storage` gives the bytes of a storage by its key. Throws kData with the byte where it cannot go
/// on: cut short, of an unknown form, a tensor that reaches beyond its storage.
PickledValue read_pickle(
    std::span<const std::uint8_t> bytes,
    const std::function<at::DataPtr(const std::string& key, std::size_t& size)>& storage);

}  // namespace lockstep::nets
