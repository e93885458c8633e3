#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::predict {

/// Work of one layer on one example, forward.
struct LayerCost {
  std::string name;
  double flops = 0;    ///< 2 per multiply-add
  double inputs = 0;   ///< activations read
  double outputs = 0;  ///< activations written
  double parameters = 0;
};

/// One network within a training step: how often it runs forward and backward on each example.
struct NetworkPart {
  std::string name;
  std::vector<LayerCost> layers;
  double forward = 1;
  double backward = 1;
  double parameters() const;
};

/// A training step of a model: its networks and the optimizer's traffic.
struct TrainingCost {
  std::string model;
  std::vector<NetworkPart> parts;
  /// Parameter-sized arrays the optimizer reads and writes: 5 for SGD with momentum (parameter,
  /// gradient, momentum), 7 for Adam.
  double optimizer_arrays = 5;

  double parameters() const;
};

/// DCGAN for 64 x 64 images, latent 100, 64 feature maps at the widest resolution, Adam: the
/// discriminator sees each batch as real, as fake and through the generator's update.
TrainingCost dcgan_cost();
/// ResNet-18 with a 3 x 3 stem for 32 x 32 images and 10 classes (11,173,962 parameters), SGD.
TrainingCost resnet18_cifar_cost();

/// The network of the fashion recipe: two convolutions and two dense layers, 28 x 28 images, SGD.
TrainingCost fashion_cost();

/// By name ("dcgan" or "gan", "resnet18-cifar" or "cifar-resnet18", "fashion"); throws kUsage
/// naming the known.
TrainingCost training_cost(std::string_view model);

}  // namespace lockstep::predict
