#include <functional>

#include "lockstep/nets/golden.h"
#include "lockstep/nets/networks/dcgan.h"
#include "lockstep/nets/networks/mobilenet_v2.h"
#include "lockstep/nets/networks/pilot_net.h"
#include "lockstep/nets/networks/resnet18_cifar.h"
#include "lockstep/nets/networks/vgg16.h"

namespace lockstep::nets {
namespace {

using torch::Tensor;

struct Case {
  std::string name;
  std::vector<std::int64_t> input;
  std::function<std::shared_ptr<Network>()> make;
  std::int64_t
      parameters_as_published;  ///< with 1000 classes where it has classes; 0 = not checked
  /// Largest relative error of outputs and gradients in single precision.
  double float_output = 0;
  double float_gradient = 0;
};

/// The same figures as make_network_golden.py writes. On one thread: on a host with other work,
/// threads that wait for each other take minutes.
class PyTorchEquality : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { torch::set_num_threads(1); }
  void TearDown() override { torch::set_num_threads(threads_); }

  static Tensor hashed(std::uint64_t stream, at::IntArrayRef shape, torch::Dtype type) {
    return uniform(stream, c10::multiply_integers(shape)).view(shape).to(type);
  }

  /// Runs the network forward and backward and compares with PyTorch's figures.
  static void expect_equal(Network& net, torch::Dtype type, double output_tolerance,
                           double gradient_tolerance) {
    const auto golden = read_golden(GetParam().name);
    EXPECT_EQ(net.parameter_count(), static_cast<std::int64_t>(golden.at("parameters")));
    const auto outputs = net.forward(hashed(1000, GetParam().input, type));
    const double norm = golden.at("output_norm");
    EXPECT_NEAR(outputs.norm().item<double>() / norm, 1, output_tolerance);
    const auto flat = outputs.detach().flatten();
    std::size_t outputs_seen = 0;
    for (const auto& [name, value] : golden) {
      if (!name.starts_with("output.")) continue;
      EXPECT_NEAR(flat[std::stoll(name.substr(7))].item<double>(), value, output_tolerance * norm)
          << name;
      ++outputs_seen;
    }
    EXPECT_GE(outputs_seen, 4U);
    (outputs * hashed(2000, outputs.sizes(), type)).sum().backward();
    // Some gradients are zero but for rounding, such as those of a bias before a batch norm.
    double largest = 0;
    for (const auto& [name, value] : golden) {
      if (name.starts_with("gradient_norm.")) largest = std::max(largest, value);
    }
    std::uint64_t index = 0;
    for (const auto& item : net.named_parameters()) {
      const auto& gradient = item.value().grad();
      const double expected = golden.at("gradient_norm." + item.key());
      const double tolerance = gradient_tolerance * (expected + 1e-3 * largest);
      EXPECT_NEAR(gradient.norm().item<double>(), expected, tolerance) << item.key();
      const auto product = (gradient * hashed(3000 + index++, gradient.sizes(), type)).sum();
      EXPECT_NEAR(product.item<double>(), golden.at("gradient_product." + item.key()),
                  tolerance * std::sqrt(gradient.numel()))
          << item.key();
    }
    EXPECT_EQ(golden.size(), 3 + outputs_seen + 2 * index) << "PyTorch has other parameters";
  }

  static void turn_dropout_off(Network& net) {
    for (const auto& module : net.modules(false)) {
      if (module->as<torch::nn::Dropout>()) module->eval();
    }
  }

 private:
  int threads_ = torch::get_num_threads();
};

// In double precision both sides add the same numbers in another order.
TEST_P(PyTorchEquality, OutputsAndGradientsInDoublePrecision) {
  const auto net = GetParam().make();
  fill_with_hashes(*net);
  net->to(torch::kDouble);
  turn_dropout_off(*net);
  expect_equal(*net, torch::kDouble, 1e-9, 1e-7);
}

// In single precision rectifiers turn rounding into jumps: a value within rounding of zero takes
// its gradient to one side or the other, and batch norms of few examples amplify that. PilotNet,
// which has neither, shows what rounding alone does.
TEST_P(PyTorchEquality, OutputsAndGradientsInSinglePrecision) {
  const auto net = GetParam().make();
  fill_with_hashes(*net);
  turn_dropout_off(*net);
  expect_equal(*net, torch::kFloat, GetParam().float_output, GetParam().float_gradient);
}

TEST_P(PyTorchEquality, HasAsManyParametersAsPublished) {
  if (GetParam().name == "vgg16") {
    EXPECT_EQ(Vgg16().parameter_count(), GetParam().parameters_as_published);
  } else if (GetParam().name == "mobilenet_v2") {
    EXPECT_EQ(MobileNetV2().parameter_count(), GetParam().parameters_as_published);
  } else {
    EXPECT_EQ(GetParam().make()->parameter_count(), GetParam().parameters_as_published);
  }
}

template <class Net, class... Arguments>
std::function<std::shared_ptr<Network>()> maker(Arguments... arguments) {
  return [=] { return std::make_shared<Net>(arguments...); };
}

INSTANTIATE_TEST_SUITE_P(
    Networks, PyTorchEquality,
    ::testing::Values(
        Case{"resnet18_cifar_double",
             {4, 3, 32, 32},
             maker<ResNet18Cifar>(10),
             11'173'962,
             1e-4,
             3e-2},
        Case{"dcgan_generator", {4, 100, 1, 1}, maker<DcganGenerator>(), 3'576'704, 1e-5, 1e-2},
        Case{"dcgan_discriminator",
             {4, 3, 64, 64},
             maker<DcganDiscriminator>(),
             2'765'568,
             1e-5,
             1e-2},
        Case{"pilot_net", {4, 3, 66, 200}, maker<PilotNet>(), 252'219, 1e-5, 1e-5},
        Case{"vgg16", {2, 3, 32, 32}, maker<Vgg16>(10), 138'357'544, 1e-5, 1e-2},
        Case{"mobilenet_v2", {4, 3, 64, 64}, maker<MobileNetV2>(10), 3'504'872, 1e-4, 3e-2}),
    [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace lockstep::nets
