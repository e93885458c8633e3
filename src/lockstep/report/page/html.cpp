#include "lockstep/report/page/html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"
#include "lockstep/base/text/text.h"
#include "lockstep/report/page/assets.h"

namespace lockstep::report {
namespace {

PageAssets required_assets() {
  const auto assets = page_assets();
  if (assets) return *assets;
  throw Error(ErrorKind::kEnvironment, "this lockstep was built without the page",
              "install nodejs and npm, configure again with cmake, and build; all other formats "
              "work without it");
}

/// Only our own script and style, and `connect` to talk to.
std::string policy(const PageAssets& assets, std::string_view connect) {
  return fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src {}; "
      "base-uri 'none'; form-action 'none'",
      assets.script_hash, assets.style_hash, connect);
}

/// JSON inside a script element: no "<" can end it.
std::string inside_script(const nlohmann::json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size() + text.size() / 50);
  for (const char letter : text) {
    if (letter == '<') {
      out += "\\u003c";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string html(const PageAssets& assets, std::string_view title, std::string_view policy_meta,
                 std::string_view data) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "{}<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>",
      policy_meta, html_escaped(title));
  out += assets.style;
  out +=
      "</style>\n</head>\n<body>\n<div id=\"app\"><noscript>This page draws its charts with "
      "JavaScript. lockstep report without --html prints the same as text.</noscript></div>\n";
  out += data;
  out += "<script>";
  out += assets.script;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace

std::string page_html(const Page& page) {
  const PageAssets assets = required_assets();
  const nlohmann::json document = page_json(page);
  return html(assets, document["title"].get<std::string>() + " – Lockstep",
              fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n",
                          policy(assets, "'none'")),
              "<script type=\"application/json\" id=\"page-data\">" + inside_script(document) +
                  "</script>\n");
}

std::string live_html() {
  return html(required_assets(), "Lockstep", "", "");
}

std::string live_policy() {
  return policy(required_assets(), "'self'") + "; frame-ancestors 'none'";
}

}  // namespace lockstep::report
