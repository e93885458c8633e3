#include "lockstep/nets/state/state_file.h"

#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lockstep/base/error.h"
#include "lockstep/nets/state/pickle_reader.h"

namespace lockstep::nets {
namespace {

using caffe2::serialize::PyTorchStreamReader;

constexpr char kHowToSave[] = "write it with torch.save(model.state_dict(), FILE)";

[[noreturn]] void fail(const std::string& path, const std::string& what,
                       const std::string& hint = kHowToSave) {
  throw Error(ErrorKind::kData, fmt::format("{}: {}", path, what), hint);
}

void require_archive(const std::string& path) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path, ignored)) {
    fail(path, "cannot be read", "check the path and the file's permissions");
  }
  char start[4] = {};
  in.read(start, sizeof start);
  if (std::string_view(start, 4) == std::string_view("PK\3\4", 4)) return;
  if (static_cast<unsigned char>(start[0]) == 0x80) {
    fail(path, "is in the format used before PyTorch 1.6", "load it in Python and save it again");
  }
  fail(path, "is not a file written by torch.save or torch.jit.save");
}

/// Opens the archive and hands it to `use`; what LibTorch throws becomes an Error.
template <class Use>
auto with_archive(const std::string& path, Use&& use) {
  require_archive(path);
  try {
    PyTorchStreamReader archive(path);
    return use(archive);
  } catch (const Error& error) {
    fail(path, error.what(), error.hint().empty() ? kHowToSave : error.hint());
  } catch (const c10::Error& problem) {
    fail(path, fmt::format("is damaged: {}", problem.what_without_backtrace()),
         "download the file again");
  } catch (const std::exception& problem) {
    fail(path, fmt::format("is damaged: {}", problem.what()), "download the file again");
  }
}

/// The dictionary of tensors in what was read, or nothing.
const PickledDict* dictionary_of_tensors(const PickledValue& value) {
  const auto* dict = std::get_if<std::shared_ptr<PickledDict>>(&value);
  if (!dict || !*dict) return nullptr;
  for (const auto& [key, item] : (*dict)->items) {
    if (std::holds_alternative<torch::Tensor>(item)) return dict->get();
  }
  for (const auto& [key, item] : (*dict)->items) {
    const auto* name = std::get_if<std::string>(&key);
    if (!name || (*name != "state_dict" && *name != "model")) continue;
    if (const auto* inner = dictionary_of_tensors(item)) return inner;
  }
  return nullptr;
}

State to_state(const PickledDict& dict) {
  constexpr std::string_view kDataParallel = "module.";
  State state;
  for (const auto& [key, value] : dict.items) {
    const auto* name = std::get_if<std::string>(&key);
    const auto* tensor = std::get_if<torch::Tensor>(&value);
    if (name && tensor) state.push_back({*name, *tensor});
  }
  const bool wrapped = std::all_of(state.begin(), state.end(), [&](const StateEntry& entry) {
    return entry.name.starts_with(kDataParallel);
  });
  for (auto& entry : state) {
    if (wrapped) entry.name.erase(0, kDataParallel.size());
  }
  return state;
}

}  // namespace

ModelFileKind kind_of_model_file(const std::string& path) {
  return with_archive(path, [&](PyTorchStreamReader& archive) {
    if (!archive.hasRecord("data.pkl")) throw Error(ErrorKind::kData, "contains no data.pkl");
    for (const auto& name : archive.getAllRecords()) {
      if (name.starts_with("code/")) return ModelFileKind::kTorchScript;
    }
    return archive.hasRecord("constants.pkl") ? ModelFileKind::kTorchScript : ModelFileKind::kState;
  });
}

State read_state_file(const std::string& path) {
  return with_archive(path, [](PyTorchStreamReader& archive) {
    const auto [data, size] = archive.getRecord("data.pkl");
    const auto storage = [&](const std::string& key, std::size_t& bytes) {
      auto [memory, count] = archive.getRecord("data/" + key);
      bytes = count;
      return std::move(memory);
    };
    const auto value = read_pickle({static_cast<const std::uint8_t*>(data.get()), size}, storage);
    const auto* dict = dictionary_of_tensors(value);
    if (!dict) throw Error(ErrorKind::kData, "contains no dictionary of tensors", kHowToSave);
    return to_state(*dict);
  });
}

void copy_state(const State& state, const std::string& prefix, torch::nn::Module& module,
                const std::string& path) {
  const torch::NoGradGuard no_grad;
  std::size_t copied = 0;
  const auto copy = [&](const std::string& name, torch::Tensor& to) {
    const auto from = std::find_if(state.begin(), state.end(), [&](const StateEntry& entry) {
      return entry.name == prefix + name;
    });
    if (from == state.end()) fail(path, fmt::format("has no '{}{}'", prefix, name));
    if (from->tensor.sizes() != to.sizes()) {
      fail(path, fmt::format("'{}' has shape {}, expected {}", from->name,
                             c10::str(from->tensor.sizes()), c10::str(to.sizes())));
    }
    to.copy_(from->tensor);
    ++copied;
  };
  for (auto& item : module.named_parameters()) copy(item.key(), item.value());
  for (auto& item : module.named_buffers()) copy(item.key(), item.value());
  const auto there = static_cast<std::size_t>(
      std::count_if(state.begin(), state.end(),
                    [&](const StateEntry& entry) { return entry.name.starts_with(prefix); }));
  if (there != copied) {
    fail(path, fmt::format("has {} tensors '{}*', expected {}", there, prefix, copied));
  }
}

}  // namespace lockstep::nets
