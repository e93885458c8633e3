#include "lockstep/nets/networks/script_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/system/memory_errors.h"
#include "lockstep/nets/state/state_file.h"

namespace lockstep::nets {
namespace {

torch::jit::Module load_script(const std::string& path) {
  if (kind_of_model_file(path) != ModelFileKind::kTorchScript) {
    throw Error(ErrorKind::kData, fmt::format("{}: contains tensors but no code", path),
                "write it with torch.jit.script(model).save(FILE) or torch.jit.trace");
  }
  try {
    return torch::jit::load(path);
  } catch (const c10::Error& problem) {
    throw Error(ErrorKind::kData,
                fmt::format("{}: cannot be loaded: {}", path, problem.what_without_backtrace()),
                "write it with torch.jit.script(model).save(FILE) of this version of PyTorch or an "
                "older one");
  } catch (const std::exception& problem) {
    throw Error(ErrorKind::kData, fmt::format("{}: cannot be loaded: {}", path, problem.what()));
  }
}

/// TorchScript reports the place in the code over many lines; the last one is the reason.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return text;
  const std::size_t before = text.rfind('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, end + 1 - begin);
}

/// The same tree as the script's, of the same tensors. A tensor in two places is named once.
class Mirror : public torch::nn::Module {
 public:
  Mirror(const torch::jit::Module& script, std::set<const void*>& seen) {
    add(*this, script, seen);
  }

  static void add(torch::nn::Module& to, const torch::jit::Module& script,
                  std::set<const void*>& seen);
};

void Mirror::add(torch::nn::Module& to, const torch::jit::Module& script,
                 std::set<const void*>& seen) {
  for (const auto& item : script.named_parameters(false)) {
    if (!seen.insert(item.value.unsafeGetTensorImpl()).second) continue;
    to.register_parameter(item.name, item.value, item.value.requires_grad());
  }
  for (const auto& item : script.named_buffers(false)) {
    if (seen.insert(item.value.unsafeGetTensorImpl()).second) {
      to.register_buffer(item.name, item.value);
    }
  }
  for (const auto& child : script.named_children()) {
    to.register_module(child.name, std::make_shared<Mirror>(child.value, seen));
  }
}

}  // namespace

ScriptNetwork::ScriptNetwork(const std::string& path)
    : path_(path), module_(load_script(path)), pristine_(load_script(path)) {
  std::set<const void*> seen;
  Mirror::add(*this, module_, seen);
  if (parameter_count() == 0) {
    throw Error(ErrorKind::kData, fmt::format("{}: has no parameters to train", path),
                "save the module before torch.jit.freeze, with parameters that require gradients");
  }
  for (const auto& item : named_parameters()) {
    if (item.value().scalar_type() == torch::kFloat) continue;
    throw Error(ErrorKind::kData,
                fmt::format("{}: the parameter '{}' has type {}; only 32-bit floats are supported",
                            path, item.key(), c10::toString(item.value().scalar_type())),
                "convert the module with .float() before saving it");
  }
}

torch::Tensor ScriptNetwork::forward(const torch::Tensor& images) {
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  try {
    const auto result = module_.forward({images});
    if (result.isTensor()) return result.toTensor();
  } catch (const std::exception& problem) {
    const auto* torch_problem = dynamic_cast<const c10::Error*>(&problem);
    const std::string text =
        torch_problem ? torch_problem->what_without_backtrace() : problem.what();
    if (reports_lack_of_memory(text)) throw;  // the batch is too large, the module is not at fault
    throw Error(ErrorKind::kData,
                fmt::format("{}: fails on images of shape {}: {}", path_, c10::str(images.sizes()),
                            last_line(text)),
                "use images with the channels that the module expects, and set their size with "
                "--image-size");
  }
  throw Error(ErrorKind::kData, fmt::format("{}: does not return a single tensor", path_),
              "script a module whose forward(images) returns scores or predictions");
}

void ScriptNetwork::train(bool on) {
  torch::nn::Module::train(on);
  module_.train(on);
}

void ScriptNetwork::save(const std::string& path) const {
  // The live tensors are views of one flat buffer and would be saved as such.
  const torch::NoGradGuard no_grad;
  const auto copy_all = [](const auto& from, const auto& to) {
    auto source = from.begin();
    for (const auto& target : to) {
      target.value.copy_((*source).value);
      ++source;
    }
  };
  copy_all(module_.named_parameters(), pristine_.named_parameters());
  copy_all(module_.named_buffers(), pristine_.named_buffers());
  const std::string temporary = path + ".tmp";
  std::error_code problem;
  try {
    pristine_.save(temporary);
    std::filesystem::rename(temporary, path, problem);
  } catch (const std::exception&) {
    problem = std::make_error_code(std::errc::io_error);
  }
  if (!problem) return;
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  throw Error(ErrorKind::kData, fmt::format("cannot write the module to {}", path),
              "check the folder's permissions and the free disk space");
}

}  // namespace lockstep::nets
