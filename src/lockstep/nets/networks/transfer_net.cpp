#include "lockstep/nets/networks/transfer_net.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/base/error.h"
#include "lockstep/nets/networks/mobilenet_v2.h"
#include "lockstep/nets/networks/script_network.h"
#include "lockstep/nets/networks/vgg16.h"
#include "lockstep/nets/state/state_file.h"

namespace lockstep::nets {
namespace {

constexpr char kPrefix[] = "features.";

/// The network whose convolutions these are, by the shape of a weight that only it has; "" = none.
std::string recognise(const State& state) {
  const auto has = [&](const char* name, std::vector<std::int64_t> shape) {
    return std::any_of(state.begin(), state.end(), [&](const StateEntry& entry) {
      return entry.name == name && entry.tensor.sizes() == at::IntArrayRef(shape);
    });
  };
  if (has("features.28.weight", {512, 512, 3, 3})) return "vgg16";
  if (has("features.18.0.weight", {1280, 320, 1, 1})) return "mobilenet_v2";
  return "";
}

State state_of(const Network& network) {
  State state;
  for (const auto& item : network.named_parameters()) state.push_back({item.key(), item.value()});
  for (const auto& item : network.named_buffers()) state.push_back({item.key(), item.value()});
  return state;
}

}  // namespace

bool is_backbone_name(const std::string& backbone) {
  return backbone == "vgg16" || backbone == "mobilenet_v2";
}

TransferNet::TransferNet(const std::string& backbone, BackboneMode mode, int classes,
                         const torch::Tensor& probe)
    : mode_(mode) {
  if (is_backbone_name(backbone)) {
    add_features(backbone);
  } else if (kind_of_model_file(backbone) == ModelFileKind::kTorchScript) {
    auto script = std::make_shared<ScriptNetwork>(backbone);
    const State state = state_of(*script);
    if (const auto kind = recognise(state); !kind.empty()) {
      add_features(kind);
      copy_state(state, kPrefix, *features_, backbone);
    } else {
      kind_ = "script";
      script_ = register_module("script", std::static_pointer_cast<Network>(script));
    }
  } else {
    const State state = read_state_file(backbone);
    const auto kind = recognise(state);
    if (kind.empty()) {
      throw Error(
          ErrorKind::kData,
          fmt::format("{}: contains the weights of neither VGG16 nor MobileNetV2", backbone),
          "save the network as TorchScript: torch.jit.script(model).save(FILE)");
    }
    add_features(kind);
    copy_state(state, kPrefix, *features_, backbone);
  }
  if (mode_ == BackboneMode::kFrozen) {
    for (auto& parameter : parameters()) parameter.set_requires_grad(false);
  }
  std::int64_t width = 0;
  {
    const torch::NoGradGuard no_grad;
    eval();
    width = features_of(probe).size(1);
  }
  head_ = register_module("head", torch::nn::Linear(width, classes));
  train();
}

void TransferNet::add_features(const std::string& kind) {
  kind_ = kind;
  features_ =
      register_module("features", kind == "vgg16" ? vgg16_features() : mobilenet_v2_features());
}

torch::Tensor TransferNet::features_of(const torch::Tensor& images) {
  auto features = script_ ? script_->forward(images) : features_->forward(images);
  if (features.dim() == 4) features = features.mean({2, 3});
  if (features.dim() == 2) return features;
  throw Error(ErrorKind::kData,
              fmt::format("the backbone returns features of shape {}", c10::str(features.sizes())),
              "it must return N x D or N x C x H x W");
}

torch::Tensor TransferNet::forward(const torch::Tensor& images) {
  if (mode_ != BackboneMode::kFrozen) return head_(features_of(images));
  torch::Tensor features;
  {
    const torch::NoGradGuard no_grad;
    features = features_of(images);
  }
  return head_(features);
}

void TransferNet::train(bool on) {
  torch::nn::Module::train(on);
  if (!on || mode_ == BackboneMode::kFromNothing) return;
  if (script_) script_->eval();
  if (!features_.is_empty()) features_->eval();
}

}  // namespace lockstep::nets
