#include "lockstep/report/page/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/report/page/assets.h"

namespace lockstep::report {
namespace {

Page hostile_page() {
  Page page;
  page.title = "</title><script>alert(1)</script>";
  page.headline = "</script><script>alert(2)</script>";
  return page;
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(PageHtml, ReportsWhatIsMissingInABuildWithoutNode) {
  if (page_assets()) {
    EXPECT_FALSE(live_html().empty());
    return;
  }
  try {
    page_html(Page{});
    FAIL() << "made a page out of nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_NE(error.hint().find("npm"), std::string::npos);
  }
}

TEST(PageHtml, KeepsMarkupInsideItsData) {
  if (!page_assets()) return;
  const std::string html = page_html(hostile_page());
  // The data block and the program; nothing else opens or ends a script.
  EXPECT_EQ(occurrences(html, "</script>"), 2u);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  const std::size_t begin = html.find("id=\"page-data\">") + 15;
  const std::string data = html.substr(begin, html.find("</script>", begin) - begin);
  EXPECT_EQ(nlohmann::json::parse(data)["headline"], hostile_page().headline);
}

TEST(PageHtml, AllowsNothingButItsOwnScript) {
  if (!page_assets()) return;
  const std::string html = page_html(Page{});
  EXPECT_NE(html.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(html.find("unsafe"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_NE(live_policy().find("frame-ancestors 'none'"), std::string::npos);
}

TEST(PageHtml, StaysBelow400KilobytesWithoutItsData) {
  EXPECT_LT(page_assets() ? page_html(Page{}).size() : 0u, 400'000u);
}

}  // namespace
}  // namespace lockstep::report
