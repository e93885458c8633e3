#include "lockstep/nets/networks/transfer_net.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "lockstep/base/error.h"
#include "lockstep/nets/networks/script_network.h"

namespace lockstep::nets {
namespace {

std::string model_file(const std::string& name) {
  return LOCKSTEP_GOLDEN "/models/" + name;
}

class ModelFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    torch::set_num_threads(1);
    torch::manual_seed(3);
    std::string name = ::testing::TempDir() + "lockstep-models-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

using ScriptNetworkTest = ModelFiles;
using TransferNetTest = ModelFiles;

torch::Tensor small_images(std::int64_t count = 4) {
  return torch::randn({count, 3, 32, 32});
}

TEST_F(ScriptNetworkTest, HasTheParametersAndBuffersOfTheModuleUnderItsNames) {
  ScriptNetwork net(model_file("small_net.pt"));
  EXPECT_EQ(net.parameter_count(), 3 * 8 * 9 + 8 + 16 + 8 * 16 * 9 + 16 + 16 * 10 + 10);
  EXPECT_TRUE(net.named_parameters().contains("features.3.weight"));
  EXPECT_TRUE(net.named_buffers().contains("features.1.running_mean"));
}

TEST_F(ScriptNetworkTest, ChangesOfItsParametersChangeWhatTheModuleComputes) {
  ScriptNetwork net(model_file("small_net.pt"));
  const auto x = small_images();
  net.eval();
  const auto before = net.forward(x);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : net.parameters()) parameter.set_data(parameter * 0.5);
  EXPECT_FALSE(torch::allclose(net.forward(x), before));
}

TEST_F(ScriptNetworkTest, GradientsReachEveryParameterAndRunningAveragesMove) {
  ScriptNetwork net(model_file("small_net.pt"));
  net.train();
  const auto mean = net.named_buffers()["features.1.running_mean"].clone();
  net.forward(small_images()).sum().backward();
  for (const auto& item : net.named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
  }
  EXPECT_FALSE(torch::equal(net.named_buffers()["features.1.running_mean"], mean));
}

TEST_F(ScriptNetworkTest, NamesAWeightInTwoPlacesOnce) {
  ScriptNetwork net(model_file("tied.pt"));
  EXPECT_EQ(net.parameter_count(), 9 + 3 + 3);
}

TEST_F(ScriptNetworkTest, WhatIsSavedIsWhatWasTrainedAndLoadsAgain) {
  ScriptNetwork net(model_file("small_net.pt"));
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : net.parameters()) parameter.add_(0.25);
  }
  net.train();
  net.forward(small_images());
  net.save(file("out.pt"));
  ScriptNetwork again(file("out.pt"));
  const auto x = small_images();
  net.eval();
  again.eval();
  EXPECT_TRUE(torch::equal(net.forward(x), again.forward(x)));
  EXPECT_THROW(net.save(file("missing/out.pt")), Error);
}

TEST_F(ScriptNetworkTest, RefusesWhatCannotBeTrained) {
  const auto message = [&](const std::string& path) {
    try {
      ScriptNetwork net(path);
      net.forward(small_images());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message(model_file("ordered_dict.pt")).find("tensors but no code"), std::string::npos);
  EXPECT_NE(message(model_file("returns_pair.pt")).find("does not return a single tensor"),
            std::string::npos);
  EXPECT_NE(message(model_file("none.pt")).find("cannot be read"), std::string::npos);
  ScriptNetwork net(model_file("small_net.pt"));
  try {
    net.forward(torch::zeros({2, 1, 32, 32}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("fails on images of shape [2, 1, 32, 32]"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(TransferNetTest, TrainsOnlyTheHeadOfAFrozenBackbone) {
  TransferNet net(model_file("features.pt"), BackboneMode::kFrozen, 5, small_images(1));
  EXPECT_EQ(net.kind(), "script");
  EXPECT_EQ(net.parameter_count(), 12 * 5 + 5);
  net.train();
  const auto mean = net.named_buffers()["script.layers.1.running_mean"].clone();
  net.forward(small_images()).sum().backward();
  EXPECT_TRUE(torch::equal(net.named_buffers()["script.layers.1.running_mean"], mean))
      << "a frozen batch norm moved its averages";
  for (const auto& item : net.named_parameters()) {
    EXPECT_EQ(item.value().grad().defined(), item.key().starts_with("head.")) << item.key();
  }
}

TEST_F(TransferNetTest, FineTuningReachesTheBackboneToo) {
  TransferNet net(model_file("features.pt"), BackboneMode::kFineTuned, 5, small_images(1));
  net.train();
  net.forward(small_images()).sum().backward();
  for (const auto& item : net.named_parameters()) {
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
}

TEST_F(TransferNetTest, TakesTheWeightsOfTorchvisionsNamesFromAStateFile) {
  const TransferNet trained("mobilenet_v2", BackboneMode::kFromNothing, 3, small_images(1));
  c10::Dict<std::string, at::Tensor> state;
  for (const auto& item : trained.named_parameters())
    state.insert(item.key(), item.value().detach());
  for (const auto& item : trained.named_buffers()) state.insert(item.key(), item.value());
  const auto bytes = torch::pickle_save(state);
  std::ofstream(file("backbone.pt"), std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const TransferNet net(file("backbone.pt"), BackboneMode::kFrozen, 7, small_images(1));
  EXPECT_EQ(net.kind(), "mobilenet_v2");
  EXPECT_EQ(net.parameter_count(), 1280 * 7 + 7);
  EXPECT_TRUE(torch::equal(net.named_parameters()["features.18.0.weight"],
                           trained.named_parameters()["features.18.0.weight"]));
}

TEST_F(TransferNetTest, RefusesAStateOfUnknownShape) {
  EXPECT_THROW(
      TransferNet(model_file("ordered_dict.pt"), BackboneMode::kFrozen, 5, small_images(1)), Error);
}

}  // namespace
}  // namespace lockstep::nets
