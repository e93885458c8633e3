#pragma once

#include <memory>
#include <string>

#include "lockstep/nets/networks/network.h"

namespace lockstep::nets {

/// What becomes of the backbone while the head is trained.
enum class BackboneMode {
  kFrozen,      ///< stays as it is, batch norms on their stored averages
  kFineTuned,   ///< trained too; batch norms still use their stored averages
  kFromNothing  ///< an ordinary part of the network
};

/// A backbone that turns images into features, their average over the image where they have a
/// height and a width, and a linear head with one score per class.
///
/// Parameters of VGG16 and MobileNetV2 are called "features.*" as in torchvision, those of another
/// TorchScript module "script.*"; those of the head "head.*". The head comes last.
class TransferNet final : public Network {
 public:
  /// `backbone` is a file: a state file or TorchScript module of torchvision's vgg16 or
  /// mobilenet_v2, with any or no classifier; another TorchScript module that returns features, N x
  /// D or N x C x H x W; or a checkpoint of this recipe. Or it is the name "vgg16" or
  /// "mobilenet_v2", for a network with random parameters, to be trained from nothing. `probe` is
  /// an image batch of the size to be trained on: a TorchScript module is asked for the number of
  /// its features with it. Throws kData for a file that is none of these.
  TransferNet(const std::string& backbone, BackboneMode mode, int classes,
              const torch::Tensor& probe);

  torch::Tensor forward(const torch::Tensor& images) override;
  /// A backbone with stored averages stays in evaluation mode.
  void train(bool on = true) override;

  /// "vgg16", "mobilenet_v2" or "script".
  const std::string& kind() const { return kind_; }

 private:
  torch::Tensor features_of(const torch::Tensor& images);
  void add_features(const std::string& kind);

  BackboneMode mode_;
  std::string kind_;
  torch::nn::Sequential features_{nullptr};
  std::shared_ptr<Network> script_;
  torch::nn::Linear head_{nullptr};
};

/// Whether this is the name of a network rather than of a file.
bool is_backbone_name(const std::string& backbone);

}  // namespace lockstep::nets
