"""Phoenix as a person sees it, in headless Chromium: opens a page, writes a filter, and shows what it finds.

    python phoenix_browser.py PAGE FILTER BEFORE AFTER PICTURE

Waits until the page has BEFORE rows, writes FILTER, waits until it has AFTER rows, prints the address and the text of
each, and has PICTURE drawn. Run in the environment that Phoenix has: it needs selenium.
"""

from __future__ import annotations

import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

WAIT_S = 90
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=2000,800",
)


ROWS = """
return [...document.querySelectorAll('tbody tr')].filter(row => row.querySelector('a')).map(
    row => row.querySelector('a').getAttribute('href') + ' ' + row.innerText.replace(/\\s+/g, ' '))
"""


def rows(driver: webdriver.Chrome) -> list[str]:
    found: list[str] = driver.execute_script(ROWS)
    return found


def main(page: str, condition: str, before: str, after: str, picture: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for each in ARGUMENTS:
        options.add_argument(each)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        driver.get(page)
        wait = WebDriverWait(driver, WAIT_S)
        wait.until(lambda _: len(rows(driver)) == int(before))
        box = driver.find_element(By.CSS_SELECTOR, ".cm-content")
        box.click()
        # Escape shuts what the box proposes to complete.
        box.send_keys(Keys.CONTROL, "a", Keys.NULL, condition, Keys.ESCAPE, Keys.ENTER)
        wait.until(lambda _: len(rows(driver)) == int(after))
        print(*rows(driver), sep="\n")
        driver.save_screenshot(picture)
    except Exception:
        print(driver.find_element(By.TAG_NAME, "body").text, file=sys.stderr)
        raise
    finally:
        driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
