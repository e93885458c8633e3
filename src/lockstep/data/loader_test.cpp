#include "lockstep/data/loader.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/data/augment/crop_flip.h"
#include "lockstep/data/synthetic.h"

namespace lockstep::data {
namespace {

std::shared_ptr<const Dataset> small_data(std::int64_t examples = 103) {
  return make_synthetic({.shape = {3, 8, 8}, .classes = 7, .train_examples = examples}).train;
}

std::shared_ptr<const Transform> small_transform() {
  return make_crop_flip({.input = {3, 8, 8},
                         .padding = 2,
                         .flip_probability = 0.5,
                         .normalisation = {{0.5F, 0.5F, 0.5F}, {0.2F, 0.2F, 0.2F}}});
}

struct Copy {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  std::int64_t step, global;
  int micro;
  bool operator==(const Copy&) const = default;
};

Copy copy(const Batch& batch) {
  const auto count = static_cast<std::size_t>(batch.count());
  return {{batch.images(), batch.images() + count * 192},
          {batch.labels(), batch.labels() + count},
          batch.step(),
          batch.global_count(),
          batch.micro()};
}

std::vector<Copy> epoch_of(Loader& loader, int epoch, std::int64_t first_step = 0) {
  std::vector<Copy> all;
  loader.start_epoch(epoch, first_step);
  while (auto batch = loader.next()) all.push_back(copy(*batch));
  return all;
}

TEST(Loader, GivesTheSameBatchesForAnyThreadsAndBuffers) {
  const SamplerOptions sampler{.examples = 103, .batch = 8, .accumulate = 2};
  Loader plain(small_data(), small_transform(), sampler, {.threads = 0, .ahead = 1});
  const auto first = epoch_of(plain, 1), second = epoch_of(plain, 2);
  ASSERT_EQ(first.size(), 14U);
  EXPECT_NE(first[0], second[0]);
  for (int threads : {1, 2, 5}) {
    for (int ahead : {1, 3, 8}) {
      Loader loader(small_data(), small_transform(), sampler, {.threads = threads, .ahead = ahead});
      EXPECT_EQ(epoch_of(loader, 1), first) << threads << " threads, " << ahead << " ahead";
      EXPECT_EQ(epoch_of(loader, 2), second);
    }
  }
}

TEST(Loader, ManyRanksSeeTheExamplesOfOne) {
  Loader one(small_data(), small_transform(), {.examples = 103, .batch = 24}, {.threads = 1});
  std::vector<std::unique_ptr<Loader>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::make_unique<Loader>(
        small_data(), small_transform(),
        SamplerOptions{.examples = 103, .batch = 8, .rank = rank, .world = 3}, LoaderOptions{}));
    ranks.back()->start_epoch(4);
  }
  for (const Copy& whole : epoch_of(one, 4)) {
    Copy joined{{}, {}, whole.step, whole.global, whole.micro};
    for (auto& rank : ranks) {
      const auto batch = rank->next();
      ASSERT_TRUE(batch);
      const Copy part = copy(*batch);
      EXPECT_EQ(part.global, whole.global);
      joined.images.insert(joined.images.end(), part.images.begin(), part.images.end());
      joined.labels.insert(joined.labels.end(), part.labels.begin(), part.labels.end());
    }
    EXPECT_EQ(joined, whole);
  }
}

TEST(Loader, ResumesAtAStep) {
  const SamplerOptions sampler{.examples = 103, .batch = 8, .accumulate = 2};
  Loader loader(small_data(), small_transform(), sampler, {.threads = 2});
  const auto whole = epoch_of(loader, 3), rest = epoch_of(loader, 3, 4);
  ASSERT_EQ(rest.size(), whole.size() - 8);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + 8));
  EXPECT_TRUE(epoch_of(loader, 3, loader.steps_per_epoch()).empty());
  EXPECT_THROW(loader.start_epoch(3, loader.steps_per_epoch() + 1), Error);
}

TEST(Loader, StartsAnotherEpochInTheMiddleOfOne) {
  Loader loader(small_data(), small_transform(), {.examples = 103, .batch = 4}, {.threads = 3});
  const auto expected = epoch_of(loader, 9);
  for (int used = 0; used < 12; ++used) {
    loader.start_epoch(1);
    for (int i = 0; i < used; ++i) ASSERT_TRUE(loader.next());
    ASSERT_EQ(epoch_of(loader, 9), expected);
  }
}

TEST(Loader, UsesTheSameFewBuffersAgain) {
  Loader loader(small_data(), small_transform(), {.examples = 103, .batch = 4},
                {.threads = 2, .ahead = 3});
  std::set<float*> buffers;
  for (int epoch = 1; epoch < 5; ++epoch) {
    loader.start_epoch(epoch);
    while (auto batch = loader.next()) {
      buffers.insert(batch->images());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch->images()) % 64, 0U);
    }
  }
  EXPECT_LE(buffers.size(), 4U);
}

TEST(Loader, RefusesWhenTheConsumerKeepsEveryBuffer) {
  for (int threads : {0, 2}) {
    Loader loader(small_data(), small_transform(), {.examples = 103, .batch = 4},
                  {.threads = threads, .ahead = 2});
    loader.start_epoch(1);
    std::vector<Batch> held;
    for (int i = 0; i < 3; ++i) held.push_back(*loader.next());
    EXPECT_THROW(loader.next(), Error);
    held[0].release();
    EXPECT_TRUE(loader.next());
  }
}

TEST(Loader, BatchOutlivesItsLoader) {
  auto loader =
      std::make_unique<Loader>(small_data(), small_transform(),
                               SamplerOptions{.examples = 103, .batch = 4}, LoaderOptions{});
  loader->start_epoch(1);
  Batch batch = *loader->next();
  const Copy before = copy(batch);
  loader.reset();
  EXPECT_EQ(copy(batch), before);
}

TEST(Loader, StopsAtOnceInTheMiddleOfAnEpoch) {
  for (int i = 0; i < 50; ++i) {
    Loader loader(small_data(), small_transform(), {.examples = 103, .batch = 2}, {.threads = 3});
    loader.start_epoch(1);
    if (i % 2 == 0) loader.next();
  }
}

/// Gives its examples from a small set, but fails at one, or waits at one until it may continue.
class AwkwardDataset final : public Dataset {
 public:
  const DatasetInfo& info() const override { return data_->info(); }
  std::int64_t size() const override { return data_->size(); }
  Example fetch(std::int64_t index, FetchScratch& scratch) const override {
    if (index == fails_at) throw Error(ErrorKind::kData, "example 17 is broken");
    if (index == waits_at) {
      std::unique_lock lock(mutex_);
      begun_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
    }
    return data_->fetch(index, scratch);
  }
  void wait_until_begun() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_; });
  }
  void open() {
    const std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::int64_t fails_at = -1, waits_at = -1;

 private:
  std::shared_ptr<const Dataset> data_ = small_data();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool begun_ = false;
  bool open_ = false;
};

TEST(Loader, SurfacesAFailureAtItsStepAndKeepsTheStepsBefore) {
  for (int threads : {0, 1, 3}) {
    auto data = std::make_shared<AwkwardDataset>();
    data->fails_at = 17;
    Loader loader(data, small_transform(), {.examples = 103, .batch = 4, .shuffle = false},
                  {.threads = threads});
    for (int epoch = 1; epoch < 3; ++epoch) {
      loader.start_epoch(epoch);
      for (int i = 0; i < 4; ++i) EXPECT_EQ(loader.next()->step(), i);
      for (int i = 0; i < 2; ++i) {
        try {
          loader.next();
          FAIL();
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kData);
          EXPECT_STREQ(error.what(), "example 17 is broken");
        }
      }
      loader.start_epoch(epoch, 5);
      EXPECT_EQ(loader.next()->step(), 5);
    }
  }
}

TEST(Loader, TimesOutAndThenContinues) {
  auto data = std::make_shared<AwkwardDataset>();
  data->waits_at = 0;
  Loader loader(data, small_transform(), {.examples = 103, .batch = 4, .shuffle = false},
                {.threads = 1});
  loader.start_epoch(1);
  data->wait_until_begun();
  try {
    loader.next(Seconds(0.001));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
  }
  data->open();
  EXPECT_EQ(loader.next()->step(), 0);
  EXPECT_EQ(loader.next()->step(), 1);
}

TEST(Loader, HandsOutRegressionTargets) {
  const auto data = make_synthetic({.shape = {3, 8, 8}, .classes = 0, .train_examples = 50}).train;
  Loader loader(data, small_transform(), {.examples = 50, .batch = 10, .shuffle = false}, {});
  loader.start_epoch(1);
  FetchScratch scratch;
  std::int64_t index = 0;
  while (auto batch = loader.next()) {
    for (std::int64_t i = 0; i < batch->count(); ++i) {
      EXPECT_EQ(batch->targets()[i], data->fetch(index++, scratch).targets[0]);
    }
  }
  EXPECT_EQ(index, 50);
}

TEST(Loader, RefusesOptionsThatMakeNoSense) {
  const SamplerOptions sampler{.examples = 103, .batch = 4};
  EXPECT_THROW(Loader(small_data(), small_transform(), sampler, {.threads = -1}), Error);
  EXPECT_THROW(Loader(small_data(), small_transform(), sampler, {.ahead = 0}), Error);
  EXPECT_THROW(Loader(small_data(90), small_transform(), sampler, {}), Error);
}

}  // namespace
}  // namespace lockstep::data
