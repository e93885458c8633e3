#include "lockstep/train/trainer/input_feed.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "counters.h"
#include "lockstep/data/augment/affine.h"
#include "lockstep/data/augment/crop_flip.h"
#include "lockstep/data/synthetic.h"
#include "ordering.h"

namespace lockstep::train {
namespace {

using data::PixelOrder;
using device_double::Counters;
using device_double::Ordering;

constexpr int kExamples = 103;
constexpr int kPixels = 3 * 8 * 8;
const data::Normalisation kNormalisation{{0.49F, 0.48F, 0.44F}, {0.20F, 0.19F, 0.21F}};

using SharedTransform = std::shared_ptr<const data::Transform>;

SharedTransform crop_flip(PixelOrder order) {
  return data::make_crop_flip({.input = {3, 8, 8},
                               .padding = 2,
                               .flip_probability = 0.5,
                               .normalisation = kNormalisation,
                               .order = order});
}

SharedTransform affine(double rotation, PixelOrder order = PixelOrder::kPlanar) {
  data::AffineOptions options{.input = {3, 8, 8}, .normalisation = kNormalisation};
  options.rotation = rotation;
  options.flip_probability = 0.5;
  options.order = order;
  return data::make_affine(options);
}

/// When the device uses a batch.
enum class Use { kAtOnce, kAtTheEnd };

/// The images of an epoch as a network gets them, twice as large.
std::vector<torch::Tensor> images_of_epoch(const std::string& name,
                                           const SharedTransform& transform, bool prefetch = true,
                                           Use use = Use::kAtOnce) {
  const SystemClock clock;
  Device device = Device::open(name, 0, false);
  const auto data =
      data::make_synthetic({.shape = {3, 8, 8}, .classes = 7, .train_examples = kExamples});
  InputFeed feed(data.train, transform, {.examples = kExamples, .batch = 8},
                 {.threads = 2, .ahead = 3}, device, clock, Seconds(60));
  std::vector<torch::Tensor> images;
  feed.start_epoch(1);
  while (const auto part = feed.next(0)) {
    // What a network does with it, before it is given back or while the host is far ahead.
    images.push_back(use == Use::kAtOnce ? part->images * 2 : part->images);
    feed.release();
    if (prefetch) feed.prefetch();
  }
  for (auto& batch : images) batch = (use == Use::kAtOnce ? batch : batch * 2).cpu();
  return images;
}

void expect_the_same_bits(const SharedTransform& transform, bool prefetch = true,
                          Use use = Use::kAtOnce) {
  const auto expected = images_of_epoch("cpu", transform);
  ASSERT_EQ(expected.size(), 13U);
  const auto images = images_of_epoch("cuda", transform, prefetch, use);
  ASSERT_EQ(images.size(), expected.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_TRUE(torch::equal(images[i], expected[i])) << "batch " << i;
  }
}

TEST(InputFeed, ABufferOfTheLoaderIsNotReusedBeforeItsCopyIsDone) {
  const std::int64_t reports = Ordering::instance().reports();
  for (const bool prefetch : {false, true}) {
    expect_the_same_bits(crop_flip(PixelOrder::kPlanar), prefetch);
    // Floats, with which nothing is done before a network uses them: copies are as late as can be.
    expect_the_same_bits(affine(10), prefetch, Use::kAtTheEnd);
  }
  EXPECT_EQ(Ordering::instance().reports(), reports);
}

TEST(InputFeed, NormalisesOnTheDeviceToTheBitsOfTheHost) {
  for (const PixelOrder order : {PixelOrder::kPlanar, PixelOrder::kInterleaved}) {
    expect_the_same_bits(crop_flip(order));
    expect_the_same_bits(affine(0, order));
  }
  expect_the_same_bits(affine(10));
}

std::int64_t bytes_sent(const SharedTransform& transform) {
  const std::int64_t before = Counters::instance().bytes_to_device;
  images_of_epoch("cuda", transform);
  return Counters::instance().bytes_to_device - before;
}

TEST(InputFeed, SendsOneBytePerPixelUnlessPixelsAreInterpolated) {
  const std::int64_t labels = 8 * kExamples, factors = 2 * 3 * 4;
  EXPECT_EQ(bytes_sent(crop_flip(PixelOrder::kPlanar)), kExamples * kPixels + labels + factors);
  EXPECT_EQ(bytes_sent(affine(0)), kExamples * kPixels + labels + factors);
  EXPECT_EQ(bytes_sent(affine(10)), 4 * kExamples * kPixels + labels);
}

TEST(InputFeed, AFailureOfTheDeviceIsThrownAndNotHiddenByTheEndOfTheProcess) {
  const SystemClock clock;
  const auto data =
      data::make_synthetic({.shape = {3, 8, 8}, .classes = 7, .train_examples = kExamples});
  const auto train_until_failure = [&] {
    Device device = Device::open("cuda", 0, false);
    InputFeed feed(data.train, crop_flip(PixelOrder::kPlanar), {.examples = kExamples, .batch = 8},
                   {}, device, clock, Seconds(60));
    feed.start_epoch(1);
    feed.next(0);
    feed.prefetch();
    device_double::set_broken(true);
    device.wait();  // a kernel has failed
  };
  EXPECT_THROW(train_until_failure(), c10::Error);
  device_double::set_broken(false);
}

}  // namespace
}  // namespace lockstep::train
