#include "lockstep/predict/devices/network_cost.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/base/error.h"

namespace lockstep::predict {
namespace {

/// Builds a chain of layers over square feature maps; sizes are per example.
class Chain {
 public:
  Chain(double channels, double side) : channels_(channels), side_(side) {}

  double channels() const { return channels_; }
  double side() const { return side_; }
  double map() const { return channels_ * side_ * side_; }

  void convolve(const std::string& name, double out, double kernel, double stride, double padding,
                bool biased = false) {
    const double side = std::floor((side_ + 2 * padding - kernel) / stride) + 1;
    const double weights = channels_ * out * kernel * kernel;
    add(name, 2 * weights * side * side, out * side * side, weights + (biased ? out : 0));
    channels_ = out;
    side_ = side;
  }

  /// Each input point meets each weight once, for any stride.
  void convolve_transposed(const std::string& name, double out, double kernel, double stride,
                           double padding) {
    const double side = (side_ - 1) * stride - 2 * padding + kernel;
    const double weights = channels_ * out * kernel * kernel;
    add(name, 2 * weights * side_ * side_, out * side * side, weights);
    channels_ = out;
    side_ = side;
  }

  /// Two passes over the map: statistics, then scaling.
  void normalise(const std::string& name) {
    layers_.push_back({name, 8 * map(), 2 * map(), map(), 2 * channels_});
  }
  void activate(const std::string& name) { layers_.push_back({name, map(), map(), map(), 0}); }
  void add_shortcut(const std::string& name) {
    layers_.push_back({name, map(), 2 * map(), map(), 0});
  }
  /// Rectified and halved: the largest of each 2 x 2.
  void pool(const std::string& name) {
    layers_.push_back({name, map(), map(), map() / 4, 0});
    side_ /= 2;
  }
  void average(const std::string& name) {
    layers_.push_back({name, map(), map(), channels_, 0});
    side_ = 1;
  }
  void connect(const std::string& name, double out) {
    add(name, 2 * map() * out, out, map() * out + out);
    channels_ = out;
    side_ = 1;
  }
  void restore(double channels, double side) {
    channels_ = channels;
    side_ = side;
  }

  std::vector<LayerCost> take() { return std::move(layers_); }

 private:
  void add(const std::string& name, double flops, double outputs, double parameters) {
    layers_.push_back({name, flops, map(), outputs, parameters});
  }

  double channels_;
  double side_;
  std::vector<LayerCost> layers_;
};

std::vector<LayerCost> dcgan_generator() {
  Chain chain(100, 1);
  double out = 512;
  chain.convolve_transposed("project", out, 4, 1, 0);
  for (int i = 1; i <= 4; ++i) {
    chain.normalise(fmt::format("norm{}", i));
    chain.activate(fmt::format("relu{}", i));
    out = i < 4 ? out / 2 : 3;
    chain.convolve_transposed(fmt::format("up{}", i), out, 4, 2, 1);
  }
  chain.activate("tanh");
  return chain.take();
}

std::vector<LayerCost> dcgan_discriminator() {
  Chain chain(3, 64);
  double out = 64;
  for (int i = 1; i <= 4; ++i) {
    chain.convolve(fmt::format("down{}", i), out, 4, 2, 1);
    if (i > 1) chain.normalise(fmt::format("norm{}", i));
    chain.activate(fmt::format("leaky{}", i));
    out *= 2;
  }
  chain.convolve("score", 1, 4, 1, 0);
  chain.activate("sigmoid");
  return chain.take();
}

void residual_block(Chain& chain, const std::string& name, double out, double stride) {
  const double channels = chain.channels();
  const double side = chain.side();
  chain.convolve(name + ".conv1", out, 3, stride, 1);
  chain.normalise(name + ".norm1");
  chain.activate(name + ".relu1");
  chain.convolve(name + ".conv2", out, 3, 1, 1);
  chain.normalise(name + ".norm2");
  if (stride != 1 || channels != out) {
    const double out_side = chain.side();
    chain.restore(channels, side);
    chain.convolve(name + ".shortcut", out, 1, stride, 0);
    chain.normalise(name + ".shortcut_norm");
    chain.restore(out, out_side);
  }
  chain.add_shortcut(name + ".add");
  chain.activate(name + ".relu2");
}

}  // namespace

double NetworkPart::parameters() const {
  double sum = 0;
  for (const LayerCost& layer : layers) sum += layer.parameters;
  return sum;
}

double TrainingCost::parameters() const {
  double sum = 0;
  for (const NetworkPart& part : parts) sum += part.parameters();
  return sum;
}

TrainingCost dcgan_cost() {
  return {"dcgan",
          {{"generator", dcgan_generator(), 1, 1}, {"discriminator", dcgan_discriminator(), 3, 3}},
          7};
}

TrainingCost resnet18_cifar_cost() {
  Chain chain(3, 32);
  chain.convolve("stem", 64, 3, 1, 1);
  chain.normalise("stem_norm");
  chain.activate("stem_relu");
  double out = 64;
  for (int stage = 1; stage <= 4; ++stage) {
    residual_block(chain, fmt::format("stage{}.0", stage), out, stage == 1 ? 1 : 2);
    residual_block(chain, fmt::format("stage{}.1", stage), out, 1);
    out *= 2;
  }
  chain.average("pool");
  chain.connect("classifier", 10);
  return {"resnet18-cifar", {{"resnet18", chain.take(), 1, 1}}, 5};
}

TrainingCost fashion_cost() {
  Chain chain(1, 28);
  chain.convolve("conv1", 8, 3, 1, 1, true);
  chain.pool("pool1");
  chain.convolve("conv2", 24, 3, 1, 1, true);
  chain.pool("pool2");
  chain.connect("hidden", 128);
  chain.activate("relu");
  chain.connect("scores", 10);
  return {"fashion", {{"net", chain.take(), 1, 1}}, 5};
}

TrainingCost training_cost(std::string_view model) {
  if (model == "dcgan" || model == "gan") return dcgan_cost();
  if (model == "resnet18-cifar" || model == "cifar-resnet18") return resnet18_cifar_cost();
  if (model == "fashion") return fashion_cost();
  throw Error(ErrorKind::kUsage, fmt::format("no layer table for the network '{}'", model),
              "known networks: dcgan (gan), resnet18-cifar (cifar-resnet18), fashion");
}

}  // namespace lockstep::predict
