#include "lockstep/base/terminal/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace lockstep {
namespace {

constexpr Nanoseconds kRedrawInterval = 100'000'000;
constexpr std::size_t kUsualWidth = 80;

bool can_erase_lines(std::FILE* stream) {
  const char* type = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && type != nullptr && std::string_view(type) != "dumb";
}

std::size_t width_of(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

/// The beginning of a line of parts, each two spaces from the one before: whole parts where the
/// first fits.
std::string fitting(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t gap = text.rfind("  ", width);
  return text.substr(0, gap == std::string::npos || gap == 0 ? width : gap);
}

}  // namespace

Console::Console(const Clock& clock) : Console(stdout, stderr, can_erase_lines(stderr), clock) {}

Console::Console(std::FILE* out, std::FILE* err, bool terminal, const Clock& clock)
    : out_(out), err_(err), terminal_(terminal), clock_(clock) {}

Console::~Console() {
  clear_status();
}

void Console::out(std::string_view text) {
  print(out_, text);
}
void Console::err(std::string_view text) {
  print(err_, text);
}

void Console::print(std::FILE* stream, std::string_view text) {
  clear_status();
  std::fwrite(text.data(), 1, text.size(), stream);
  if (!text.ends_with('\n')) std::fputc('\n', stream);
  std::fflush(stream);
}

void Console::set_status(const std::string& text) {
  const Nanoseconds now = clock_.monotonic();
  if (!terminal_ || (status_shown_ && now - drawn_at_ < kRedrawInterval)) return;
  // The last column stays free: some terminals break the line when it is filled.
  const std::string line = "\r" + fitting(text, width_of(err_) - 1) + "\033[K";
  std::fwrite(line.data(), 1, line.size(), err_);
  std::fflush(err_);
  status_shown_ = true;
  drawn_at_ = now;
}

void Console::clear_status() {
  if (!status_shown_) return;
  std::fputs("\r\033[K", err_);
  std::fflush(err_);
  status_shown_ = false;
}

}  // namespace lockstep
