#include "lockstep/base/terminal/console.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace lockstep {
namespace {

class StoppedClock final : public Clock {
 public:
  Nanoseconds monotonic() const override { return now; }
  Nanoseconds wall() const override { return now; }
  Nanoseconds now = 0;
};

/// A stream that keeps what is written to it.
class Stream {
 public:
  Stream() : file_(::open_memstream(&text_, &size_)) {}
  ~Stream() {
    std::fclose(file_);
    std::free(text_);
  }
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

TEST(Console, ErasesTheStatusLineBeforeAnythingElseIsPrinted) {
  StoppedClock clock;
  Stream both;  // as on a terminal, where the two streams meet
  Console console(both.file(), both.file(), true, clock);
  console.set_status("working");
  console.out("result");
  EXPECT_EQ(both.text(), "\rworking\033[K\r\033[Kresult\n");
}

TEST(Console, RedrawsTheStatusLineAtMostTenTimesASecond) {
  StoppedClock clock;
  Stream out;
  Stream err;
  Console console(out.file(), err.file(), true, clock);
  console.set_status("a");
  clock.now += 99'000'000;
  console.set_status("b");
  EXPECT_EQ(err.text(), "\ra\033[K");
  clock.now += 1'000'000;
  console.set_status("c");
  EXPECT_EQ(err.text(), "\ra\033[K\rc\033[K");
}

TEST(Console, ShowsNoStatusWithoutATerminal) {
  StoppedClock clock;
  Stream out;
  Stream err;
  Console console(out.file(), err.file(), false, clock);
  console.set_status("working");
  console.out("result\n");
  console.err("problem");
  EXPECT_EQ(out.text(), "result\n");
  EXPECT_EQ(err.text(), "problem\n");
}

TEST(Console, CutsTheStatusLineToTheWidthOfTheTerminal) {
  StoppedClock clock;
  Stream err;
  Console console(err.file(), err.file(), true, clock);
  console.set_status(std::string(500, 'x'));
  // A stream in memory has no width, so the usual 80 columns hold, the last of them free.
  EXPECT_EQ(err.text(), "\r" + std::string(79, 'x') + "\033[K");
}

TEST(Console, LeavesOutPartsOfTheStatusLineThatDoNotFit) {
  StoppedClock clock;
  Stream err;
  Console console(err.file(), err.file(), true, clock);
  console.set_status("epoch 1/2  ETA 3 s  " + std::string(500, 'x'));
  EXPECT_EQ(err.text(), "\repoch 1/2  ETA 3 s\033[K");
}

}  // namespace
}  // namespace lockstep
