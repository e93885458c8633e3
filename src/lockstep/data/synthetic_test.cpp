#include "lockstep/data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/base/error.h"

namespace lockstep::data {
namespace {

const SyntheticOptions kSmall{.shape = {3, 16, 16},
                              .classes = 5,
                              .train_examples = 500,
                              .validation_examples = 100,
                              .seed = 3};

std::vector<std::uint8_t> pixels(const Dataset& dataset, std::int64_t index) {
  FetchScratch scratch;
  const auto view = dataset.fetch(index, scratch).image;
  return {view.pixels, view.pixels + view.shape.values()};
}

TEST(Synthetic, IsLabelledSynthetic) {
  const auto facts = make_synthetic(kSmall).facts();
  EXPECT_TRUE(facts.synthetic);
  EXPECT_EQ(facts.path, "synthetic");
  EXPECT_EQ(facts.train_examples, 500);
  EXPECT_EQ(facts.val_examples, 100);
}

TEST(Synthetic, GivesTheSameBytesForTheSameSeedAndOthersForOthers) {
  const auto a = make_synthetic(kSmall), b = make_synthetic(kSmall);
  SyntheticOptions other = kSmall;
  other.seed = 4;
  const auto c = make_synthetic(other);
  EXPECT_EQ(pixels(*a.train, 7), pixels(*b.train, 7));
  EXPECT_NE(pixels(*a.train, 7), pixels(*c.train, 7));
  EXPECT_NE(pixels(*a.train, 7), pixels(*a.train, 12));
  EXPECT_NE(pixels(*a.train, 7), pixels(*a.validation, 7));
}

/// The class means of the training set must classify the validation set: the plainest learner there
/// is. Chance is 1/5.
TEST(Synthetic, CanBeLearnedFromTrainingAndGeneralisesToValidation) {
  const auto split = make_synthetic(kSmall);
  const std::size_t values = kSmall.shape.values();
  std::vector<std::vector<double>> means(5, std::vector<double>(values));
  FetchScratch scratch;
  for (std::int64_t i = 0; i < split.train->size(); ++i) {
    const Example example = split.train->fetch(i, scratch);
    for (std::size_t p = 0; p < values; ++p) {
      means[static_cast<std::size_t>(example.label)][p] += example.image.pixels[p] / 100.0;
    }
  }
  int right = 0;
  for (std::int64_t i = 0; i < split.validation->size(); ++i) {
    const Example example = split.validation->fetch(i, scratch);
    std::int64_t best = -1;
    double least = 1e30;
    for (std::int64_t c = 0; c < 5; ++c) {
      double distance = 0;
      for (std::size_t p = 0; p < values; ++p) {
        const double d = example.image.pixels[p] - means[static_cast<std::size_t>(c)][p];
        distance += d * d;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    right += best == example.label;
  }
  EXPECT_GT(right, 80);
}

TEST(Synthetic, RegressionTargetsSpreadOverTheirRange) {
  SyntheticOptions options = kSmall;
  options.classes = 0;
  const auto split = make_synthetic(options);
  EXPECT_EQ(split.train->info().targets, 1);
  FetchScratch scratch;
  float least = 1, most = -1;
  for (std::int64_t i = 0; i < split.train->size(); ++i) {
    const Example example = split.train->fetch(i, scratch);
    ASSERT_EQ(example.targets.size(), 1U);
    least = std::min(least, example.targets[0]);
    most = std::max(most, example.targets[0]);
  }
  EXPECT_FLOAT_EQ(least, -1);
  EXPECT_FLOAT_EQ(most, 1);
}

TEST(Synthetic, RefusesSizesThatMakeNoSense) {
  SyntheticOptions options = kSmall;
  options.train_examples = 0;
  EXPECT_THROW(make_synthetic(options), Error);
  options = kSmall;
  options.shape.width = 0;
  EXPECT_THROW(make_synthetic(options), Error);
}

}  // namespace
}  // namespace lockstep::data
