#include "lockstep/nets/state/state_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::nets {
namespace {

std::string model(const std::string& name) {
  return LOCKSTEP_GOLDEN "/models/" + name;
}

std::map<std::string, torch::Tensor> by_name(const State& state) {
  std::map<std::string, torch::Tensor> tensors;
  for (const auto& [name, tensor] : state) tensors[name] = tensor;
  return tensors;
}

/// The message of the kData error that reading gives; "" when it gives none.
template <class Read>
std::string error_of(Read&& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << error.what();
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return error.what();
  }
  return "";
}

// A state_dict() is an OrderedDict, which LibTorch's own reader does not survive.
TEST(StateFile, ReadsEveryFormThatTorchSaveGivesAStateDict) {
  for (const char* name :
       {"ordered_dict.pt", "plain_dict.pt", "checkpoint.pt", "data_parallel.pt"}) {
    EXPECT_EQ(kind_of_model_file(model(name)), ModelFileKind::kState) << name;
    const auto state = by_name(read_state_file(model(name)));
    EXPECT_EQ(state.size(), 7U) << name;
    ASSERT_TRUE(state.contains("0.weight")) << name;
    EXPECT_TRUE(torch::equal(state.at("0.weight"), torch::arange(6).view({3, 2}) + 0.5)) << name;
    EXPECT_TRUE(torch::equal(state.at("1.running_var"), torch::ones(3))) << name;
    EXPECT_EQ(state.at("1.num_batches_tracked").item<std::int64_t>(), 0) << name;
  }
}

TEST(StateFile, ReadsViewsTypesScalarsAndEmptyTensors) {
  const auto state = by_name(read_state_file(model("views.pt")));
  const auto numbers = torch::arange(12, torch::kFloat);
  EXPECT_TRUE(torch::equal(state.at("transposed"), numbers.view({3, 4}).t()));
  EXPECT_TRUE(torch::equal(state.at("part"), numbers.slice(0, 4, 8)));
  EXPECT_TRUE(torch::equal(state.at("half"), numbers.to(torch::kHalf)));
  EXPECT_TRUE(torch::equal(state.at("double"), numbers.to(torch::kDouble)));
  EXPECT_TRUE(torch::equal(state.at("whole"), numbers.to(torch::kLong)));
  EXPECT_EQ(state.at("scalar").item<float>(), 2.5F);
  EXPECT_EQ(state.at("empty").sizes(), (std::vector<std::int64_t>{0, 3}));
}

TEST(StateFile, DistinguishesTorchScriptFromStateDicts) {
  EXPECT_EQ(kind_of_model_file(model("small_net.pt")), ModelFileKind::kTorchScript);
}

TEST(StateFile, ReportsWhatIsWrongWithOtherFiles) {
  const auto read = [](const std::string& path) {
    return error_of([&] { read_state_file(path); });
  };
  EXPECT_NE(read(model("legacy.pt")).find("before PyTorch 1.6"), std::string::npos);
  EXPECT_NE(read(model("whole_model.pt")).find("no dictionary of tensors"), std::string::npos);
  EXPECT_NE(read(model("no_tensors.pt")).find("no dictionary of tensors"), std::string::npos);
  EXPECT_NE(read(model("missing.pt")).find("cannot be read"), std::string::npos);
  EXPECT_NE(read(LOCKSTEP_GOLDEN).find("cannot be read"), std::string::npos);
  EXPECT_NE(read(LOCKSTEP_GOLDEN "/resnet18_cifar.txt").find("is not a file written by torch.save"),
            std::string::npos);
}

class DamagedStateFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "lockstep-state-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ifstream in(model("ordered_dict.pt"), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Reads it; either it is refused with a kData error or it is still readable. Nothing else.
  void read(const std::string& bytes) {
    const std::string path = (folder_ / "file.pt").string();
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    error_of([&] { kind_of_model_file(path); });
    error_of([&] { read_state_file(path); });
  }

  std::filesystem::path folder_;
  std::string bytes_;
};

TEST_F(DamagedStateFile, IsRefusedWhereverItIsCut) {
  for (std::size_t size = 0; size < bytes_.size(); size += 7) read(bytes_.substr(0, size));
}

TEST_F(DamagedStateFile, IsRefusedOrReadForAnyWrongByte) {
  Rng rng(5);
  for (int trial = 0; trial < 400; ++trial) {
    std::string bytes = bytes_;
    for (int i = 0; i < 1 + trial % 3; ++i) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    read(bytes);
  }
}

TEST(CopyState, NamesTheFirstDifference) {
  torch::nn::Sequential same(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3));
  const auto state = read_state_file(model("ordered_dict.pt"));
  EXPECT_EQ(error_of([&] { copy_state(state, "", *same, "f.pt"); }), "");
  EXPECT_EQ(same->parameters()[0][2][1].item<float>(), 5.5F);
  torch::nn::Sequential wider(torch::nn::Linear(2, 4), torch::nn::BatchNorm1d(4));
  EXPECT_EQ(error_of([&] { copy_state(state, "", *wider, "f.pt"); }),
            "f.pt: '0.weight' has shape [3, 2], expected [4, 2]");
  torch::nn::Sequential longer(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3),
                               torch::nn::Linear(3, 1));
  EXPECT_EQ(error_of([&] { copy_state(state, "", *longer, "f.pt"); }), "f.pt: has no '2.weight'");
  torch::nn::Sequential shorter(torch::nn::Linear(2, 3));
  EXPECT_EQ(error_of([&] { copy_state(state, "", *shorter, "f.pt"); }),
            "f.pt: has 7 tensors '*', expected 2");
}

}  // namespace
}  // namespace lockstep::nets
