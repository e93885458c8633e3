#include "lockstep/nets/share_work.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lockstep::nets {
namespace {

class ShareWork : public ::testing::Test {
 protected:
  void TearDown() override { at::set_num_threads(threads_); }
  int threads_ = at::get_num_threads();
};

TEST_F(ShareWork, CoversEveryItemOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    at::set_num_threads(threads);
    for (const std::int64_t count : {0, 1, 63, 64, 65, 127, 1000, 4096}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      share_work(count, 10, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST_F(ShareWork, TakesFewerThreadsForLittleWork) {
  at::set_num_threads(4);
  const auto parts = [](std::int64_t count, std::int64_t grain) {
    std::atomic<int> calls = 0;
    share_work(count, grain, [&](std::int64_t, std::int64_t) { ++calls; });
    return calls.load();
  };
  EXPECT_EQ(parts(1000, 1001), 1);
  EXPECT_EQ(parts(1000, 400), 2);
  EXPECT_EQ(parts(1000, 100), 4);
}

TEST_F(ShareWork, KeepsTheThreadsThatLittleWorkDoesNotNeed) {
  at::set_num_threads(4);
  const auto threads = [](std::int64_t count) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    share_work(count, 1, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    return ids;
  };
  const auto all = threads(4);
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(threads(2).size(), 2u);
  EXPECT_EQ(threads(4), all);
}

TEST_F(ShareWork, StaysOnItsThreadInsideOfSharedWork) {
  at::set_num_threads(2);
  std::atomic<int> inner = 0;
  share_work(128, 64, [&](std::int64_t, std::int64_t) {
    share_work(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(end - begin, 1000);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 2);
}

}  // namespace
}  // namespace lockstep::nets
