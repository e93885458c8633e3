#include "lockstep/serve/live_feed.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockstep::serve {
namespace {

using namespace std::chrono_literals;

TEST(LiveFeed, GivesEveryListenerWhatCameSinceItLastAsked) {
  LiveFeed feed;
  feed.publish("one");
  const std::uint64_t late = feed.last();
  feed.publish("two");
  const auto all = feed.wait(0, 0ms);
  ASSERT_EQ(all.messages.size(), 2u);
  EXPECT_EQ(*all.messages[0], "one");
  EXPECT_FALSE(all.lost);
  const auto rest = feed.wait(late, 0ms);
  ASSERT_EQ(rest.messages.size(), 1u);
  EXPECT_EQ(*rest.messages[0], "two");
  EXPECT_TRUE(feed.wait(rest.last, 0ms).messages.empty());
}

TEST(LiveFeed, NotifiesAListenerThatFellBehind) {
  LiveFeed feed(3);
  for (int i = 0; i < 10; ++i) feed.publish(std::to_string(i));
  const auto news = feed.wait(2, 0ms);
  EXPECT_TRUE(news.lost);
  ASSERT_EQ(news.messages.size(), 3u);
  EXPECT_EQ(*news.messages[0], "7");
}

TEST(LiveFeed, WakesListenersWhenItCloses) {
  LiveFeed feed;
  std::vector<std::jthread> listeners;
  std::atomic<int> woken = 0;
  for (int i = 0; i < 20; ++i) {
    listeners.emplace_back([&] { woken += feed.wait(feed.last(), 60s).closed; });
  }
  feed.close();
  listeners.clear();
  EXPECT_EQ(woken, 20);
}

}  // namespace
}  // namespace lockstep::serve
