#include <fmt/format.h>

#include <fstream>

#include "lockstep/data/files/decode.h"
#include "lockstep/data/test_images.h"
#include "lockstep/nets/networks/script_network.h"
#include "lockstep/train/checkpoint/checkpoint.h"
#include "parallel_run.h"

namespace lockstep {
namespace {

using data::ByteList;

std::string model(const std::string& name) {
  return LOCKSTEP_GOLDEN "/models/" + name;
}

class Recipes : public ParallelRun {
 protected:
  void write(const std::string& name, const ByteList& bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }

  /// A picture of one colour with a little texture, so that classes can be distinguished.
  static ByteList coloured(int red, int green, int index) {
    ByteList pixels;
    for (int i = 0; i < 40 * 40; ++i) {
      const int texture = (i * 7 + index * 13) % 41 - 20;
      for (const int value : {red, green, 90}) {
        pixels.push_back(static_cast<std::uint8_t>(value + texture));
      }
    }
    return pixels;
  }

  /// Brighter to one side, the more so the larger the angle; its mirror image is that of the
  /// opposite angle.
  static ByteList leaning(double angle) {
    ByteList pixels;
    for (int i = 0; i < 40 * 40 * 3; ++i) {
      const double x = (i / 3 % 40 - 19.5) / 20;
      pixels.push_back(static_cast<std::uint8_t>(128 + 110 * angle * x));
    }
    return pixels;
  }

  /// Two classes that a linear head on any features separates.
  void write_two_classes(int each) const {
    for (int i = 0; i < each; ++i) {
      write(fmt::format("images/red/{:02}.jpg", i), data::make_jpeg(coloured(210, 40, i), 40, 40));
      write(fmt::format("images/green/{:02}.png", i), data::make_png(coloured(40, 210, i), 40, 40));
    }
  }

  std::vector<record::EpochResult> epochs(const launch::CapturedOutput& captured) const {
    return events<record::EpochResult>(captured.output);
  }

  std::vector<std::string> transfer(std::vector<std::string> more) const {
    more.insert(more.begin(), {"--data", folder("images"), "--backbone", model("features.pt"),
                               "--image-size", "32", "--validation", "0.3"});
    return more;
  }
};

struct RecipeCase {
  std::string recipe;
  int batch;  ///< of each of two workers
  std::vector<std::string> more;
};

class EveryRecipe : public Recipes, public ::testing::WithParamInterface<RecipeCase> {
 protected:
  launch::ProcessSpec with(int workers, std::vector<std::string> more) const {
    more.insert(more.end(), GetParam().more.begin(), GetParam().more.end());
    more.insert(more.end(), {"--data", "synthetic", "--no-validation", "--check-ranks"});
    if (GetParam().recipe == "gan") more.insert(more.end(), {"--samples", folder("sheets")});
    return train_recipe(GetParam().recipe, workers, GetParam().batch * 2 / workers, more);
  }
};

TEST_P(EveryRecipe, ContinuesBitForBitFromACheckpoint) {
  const auto whole = run_to_success(with(2, {"--steps", "4", "--checkpoint", folder("whole")}));
  run_to_success(with(2, {"--steps", "2", "--checkpoint", folder("cut")}));
  const auto resumed =
      run_to_success(with(2, {"--steps", "4", "--checkpoint", folder("cut"), "--resume"}));
  EXPECT_EQ(digest_of(resumed), digest_of(whole));
  ASSERT_EQ(epochs(resumed).size(), 1U);
  EXPECT_EQ(epochs(resumed)[0].train_loss, epochs(whole).at(0).train_loss);
  EXPECT_EQ(epochs(resumed)[0].metrics, epochs(whole).at(0).metrics);
}

TEST_P(EveryRecipe, IsLabelledSyntheticAndItsPhasesAddUp) {
  const auto captured = run_to_success(with(2, {"--steps", "3"}));
  const auto started = events<record::RunStarted>(captured.output);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_TRUE(started[0].spec.data.synthetic);
  std::size_t steps = 0;
  for (const auto& block : events<record::StepBlock>(captured.output)) {
    for (const auto& step : block.steps) {
      double sum = 0;
      for (const double phase : step.phase_s) sum += phase;
      EXPECT_NEAR(sum, step.total_s, 1e-7);
      EXPECT_GT(step[record::Phase::kBackward], 0);
      ++steps;
    }
  }
  EXPECT_EQ(steps, 6U);
}

/// Those that have no batch norms over a worker's own part of the batch.
using RecipeThatDoesNotSeeThePart = EveryRecipe;

TEST_P(RecipeThatDoesNotSeeThePart, TwoWorkersEqualOneWithTwiceTheBatch) {
  // Plain SGD: Adam divides small gradients by their size, and with it their roundings.
  const auto parameters = [&](int workers) {
    const std::string path = folder(std::to_string(workers));
    // The game of two networks lets roundings grow from step to step: one is compared.
    const std::string steps = GetParam().recipe == "gan" ? "1" : "5";
    run_to_success(with(
        workers, {"--steps", steps, "--optimizer", "sgd", "--lr", "0.01", "--checkpoint", path}));
    return train::CheckpointFolder(path).read_newest()->model;
  };
  const auto one = parameters(1), two = parameters(2);
  ASSERT_EQ(one.size(), two.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto x = one[i].tensor.to(torch::kDouble), y = two[i].tensor.to(torch::kDouble);
    difference += (x - y).pow(2).sum().item<double>();
    size += x.pow(2).sum().item<double>();
  }
  EXPECT_LT(std::sqrt(difference / size), 1e-5);
}

std::string case_name(const ::testing::TestParamInfo<RecipeCase>& info) {
  return info.param.recipe + std::to_string(info.index);
}

const RecipeCase kSteering{"steering", 8, {}};
const RecipeCase kTransfer{
    "transfer", 4, {"--backbone", model("features.pt"), "--image-size", "32"}};
const RecipeCase kFineTuned{"transfer",
                            4,
                            {"--backbone", model("features.pt"), "--image-size", "32",
                             "--fine-tune", "--rotate", "10", "--zoom", "0.1", "--flip", "0.5"}};

INSTANTIATE_TEST_SUITE_P(
    All, EveryRecipe,
    ::testing::Values(kSteering, kTransfer, kFineTuned,
                      RecipeCase{"script", 8, {"--model", model("small_net.pt")}},
                      RecipeCase{
                          "script", 8, {"--model", model("small_regression.pt"), "--loss", "mse"}},
                      RecipeCase{"gan", 2, {}}),
    case_name);
INSTANTIATE_TEST_SUITE_P(All, RecipeThatDoesNotSeeThePart,
                         ::testing::Values(kSteering, kTransfer, kFineTuned,
                                           RecipeCase{"gan", 2, {"--sync-bn"}}),
                         case_name);

TEST_F(Recipes, TransferLearnsTwoClassesOnRealFiles) {
  write_two_classes(12);
  const auto captured = run_to_success(train_recipe(
      "transfer", 2, 4, transfer({"--epochs", "20", "--lr", "0.05", "--shift-x", "0.1"})));
  ASSERT_EQ(epochs(captured).size(), 20U);
  EXPECT_LT(epochs(captured)[19].train_loss, epochs(captured)[0].train_loss);
  EXPECT_EQ(epochs(captured)[19].val_accuracy, 1);
}

TEST_F(Recipes, SteeringLearnsFromALogWithForeignPaths) {
  std::string log;
  for (int i = 0; i < 40; ++i) {
    const double angle = (i - 19.5) / 20;
    write(fmt::format("log/IMG/center {}.jpg", i), data::make_jpeg(leaning(angle), 40, 40));
    log += fmt::format("C:\\Users\\Some One\\IMG\\center {}.jpg, D:\\left {}.jpg, , {}, 1, 0, 30\n",
                       i, i, angle);
  }
  write("log/driving_log.csv", ByteList(log.begin(), log.end()));
  const auto captured =
      run_to_success(train_recipe("steering", 2, 8, {"--data", folder("log"), "--epochs", "6"}));
  ASSERT_EQ(epochs(captured).size(), 6U);
  EXPECT_LT(epochs(captured)[5].val_loss, epochs(captured)[0].val_loss);
  EXPECT_TRUE(std::isnan(epochs(captured)[5].val_accuracy));
  EXPECT_NE(captured.errors.find("left and right images named in the log do not exist"),
            std::string::npos)
      << captured.errors;
}

TEST_F(Recipes, GanWritesASheetOfSamplesAnEpochAndReportsBothLosses) {
  write_two_classes(4);
  const auto captured = run_to_success(train_recipe(
      "gan", 2, 2, {"--data", folder("images"), "--epochs", "2", "--samples", folder("sheets")}));
  ASSERT_EQ(epochs(captured).size(), 2U);
  for (const auto& epoch : epochs(captured)) {
    ASSERT_EQ(epoch.metrics.size(), 2U);
    EXPECT_TRUE(std::isfinite(epoch.metrics.at("loss_D")));
    EXPECT_TRUE(std::isfinite(epoch.metrics.at("loss_G")));
    EXPECT_GT(epoch.examples_per_s, 0);
  }
  ByteList file, pixels;
  data::read_file(folder("sheets/epoch-002.png"), {}, file);
  const auto shape = data::decode_image(file, {}, {}, pixels);
  EXPECT_EQ(shape.height, 512);
  EXPECT_EQ(shape.width, 512);
}

TEST_F(Recipes, ScriptWritesTheTrainedModuleBack) {
  const auto captured = run_to_success(train_recipe(
      "script", 2, 16,
      {"--model", model("small_net.pt"), "--data", "synthetic", "--steps", "20", "--lr", "0.05",
       "--save", folder("out.pt"), "--checkpoint", folder("checkpoints"), "--no-validation"}));
  nets::ScriptNetwork saved(folder("out.pt"));
  const auto checkpoint = train::CheckpointFolder(folder("checkpoints")).read_newest();
  ASSERT_TRUE(checkpoint.has_value());
  const auto parameters = saved.named_parameters();
  for (const auto& [name, tensor] : checkpoint->model) {
    if (!parameters.contains(name)) continue;
    EXPECT_TRUE(torch::equal(parameters[name], tensor)) << name;
  }
  // And the other way round, where there is a Python with PyTorch.
  launch::ProcessSpec python;
  python.program = "/usr/bin/python3";
  python.arguments = {"-c",
                      "import sys, torch\n"
                      "net = torch.jit.load(sys.argv[1]).eval()\n"
                      "print('sum %.6f' % net(torch.ones(2, 3, 32, 32)).abs().sum().item())",
                      folder("out.pt")};
  python.separate_errors = true;
  const auto answer = run(python);
  if (!answer.status.clean() &&
      answer.errors.find("No module named 'torch'") != std::string::npos) {
    GTEST_SKIP() << "no PyTorch in /usr/bin/python3: read back in C++ only";
  }
  ASSERT_TRUE(answer.status.clean()) << answer.errors;
  saved.eval();
  const double sum = saved.forward(torch::ones({2, 3, 32, 32})).abs().sum().item<double>();
  EXPECT_NEAR(std::stod(answer.output.substr(answer.output.find("sum ") + 4)), sum, 1e-4 * sum);
}

/// One of each odd kind among sound ones.
class OddImages : public Recipes {
 protected:
  void SetUp() override {
    Recipes::SetUp();
    write_two_classes(6);
    const auto sound = data::smooth_jpeg(60, 60);
    // Used as they are.
    write("images/red/alpha.png", data::make_png(data::smooth_pixels(20, 20, 4), 20, 20,
                                                 {.colour = PNG_COLOR_TYPE_RGB_ALPHA}));
    write("images/red/palette.png", data::make_png(ByteList(20 * 20, 1), 20, 20,
                                                   {.colour = PNG_COLOR_TYPE_PALETTE,
                                                    .palette = {{0, 0, 0}, {200, 30, 30}}}));
    write("images/red/sixteen.png",
          data::make_png(ByteList(20 * 20 * 6, 100), 20, 20, {.bits = 16}));
    write("images/red/one.png", data::make_png({200, 10, 10}, 1, 1));
    write("images/red/cmyk.jpg",
          data::make_jpeg(data::smooth_pixels(20, 20, 4), 20, 20, TJPF_CMYK, TJSAMP_444));
    write("images/red/jpeg_called.png", sound);
    // Skipped.
    write("images/red/cut.jpg", ByteList(sound.begin(), sound.begin() + 300));
    const std::string gif = "GIF89a and then some";
    write("images/green/animated.gif", ByteList(gif.begin(), gif.end()));
    write("images/green/text.jpg", ByteList(gif.rbegin(), gif.rend()));
    write("images/green/empty.png", {});
    std::filesystem::create_directories(folder_ / "images" / "nothing");
  }
};

TEST_F(OddImages, AreUsedOrSkippedWithCountAndNames) {
  const auto captured = run_to_success(train_recipe("transfer", 2, 4, transfer({})));
  const auto started = events<record::RunStarted>(captured.output);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].spec.data.skipped, 4);
  EXPECT_EQ(started[0].spec.data.train_examples + started[0].spec.data.val_examples, 18);
  for (const char* text : {"skipped 4 files", "cut.jpg", "animated.gif", "text.jpg", "empty.png",
                           "1 class has no usable image", "images/nothing"}) {
    EXPECT_NE(captured.errors.find(text), std::string::npos) << text << "\n" << captured.errors;
  }
}

TEST_F(OddImages, AreAnErrorWhenStrict) {
  const auto captured = run(train_recipe("transfer", 2, 4, transfer({"--strict"})));
  EXPECT_EQ(captured.status.code, 4);
  EXPECT_NE(captured.errors.find("images/green/animated.gif: "), std::string::npos)
      << captured.errors;
}

TEST_F(OddImages, DoNotKeepAGanFromTheRest) {
  const auto captured = run_to_success(
      train_recipe("gan", 1, 9, {"--data", folder("images"), "--samples", folder("sheets")}));
  EXPECT_NE(captured.errors.find("skipped 4 files"), std::string::npos) << captured.errors;
}

TEST_F(OddImages, DamageInsideAFileIsNamedAfterTheEpoch) {
  auto damaged = data::make_png(coloured(210, 40, 3), 40, 40);
  for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 20; ++i) damaged[i] ^= 0x5a;
  write("images/red/spoiled.png", damaged);
  const auto captured = run_to_success(train_recipe("transfer", 2, 4, transfer({})));
  EXPECT_NE(captured.errors.find("1 damaged file"), std::string::npos) << captured.errors;
  EXPECT_NE(captured.errors.find("spoiled.png"), std::string::npos);
  const auto strict = run(train_recipe("gan", 1, 9, {"--data", folder("images/red"), "--strict"}));
  EXPECT_EQ(strict.status.code, 4);
}

TEST_F(Recipes, TransferStartsFromScratchWithoutABackboneAndReportsIt) {
  const auto captured = run_to_success(train_recipe(
      "transfer", 2, 2, {"--data", "synthetic", "--image-size", "32", "--steps", "2"}));
  const std::string said = "no --backbone: mobilenet_v2 is trained from scratch";
  const std::size_t first = captured.errors.find(said);
  ASSERT_NE(first, std::string::npos) << captured.errors;
  EXPECT_EQ(captured.errors.find(said, first + 1), std::string::npos) << "one rank reports it";
}

TEST_F(Recipes, RefuseOptionsOfOthersAndWhatTheyCannotDo) {
  write_two_classes(3);
  const auto errors = [&](const std::string& recipe, std::vector<std::string> more, int code) {
    const auto captured = run(train_recipe(recipe, 1, 4, more));
    EXPECT_EQ(captured.status.code, code) << captured.errors;
    return captured.errors;
  };
  EXPECT_NE(
      errors("fashion", {"--backbone", "x.pt"}, 2).find("--backbone has no effect with the recipe"),
      std::string::npos);
  EXPECT_NE(errors("transfer", {"--data", folder("images"), "--fine-tune"}, 2)
                .find("need trained weights"),
            std::string::npos);
  EXPECT_NE(errors("transfer", transfer({"--classes", "5"}), 2).find("--classes 5, but"),
            std::string::npos);
  EXPECT_NE(
      errors("script",
             {"--model", model("small_net.pt"), "--data", folder("images"), "--loss", "mse"}, 2)
          .find("--loss cross_entropy"),
      std::string::npos);
  EXPECT_NE(errors("script", {"--model", model("legacy.pt"), "--data", "synthetic"}, 4)
                .find("before PyTorch 1.6"),
            std::string::npos);
  EXPECT_NE(errors("gan", {"--data", folder("nowhere")}, 4).find("cannot be listed"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
