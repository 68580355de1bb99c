// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages of a calendar: flights by the hour of a day, and by the day.

use netnice_queue::prefetch;

use crate::engine::calendar_queue::HOURS_LOG2;
use crate::engine::flight::Flight;
use crate::huge_pages;

/// Hours of a day, and days of which flights are kept.
const PAGES: usize = 1 << HOURS_LOG2;

/// Flights on one sheet: 256 bytes of them.
const FLIGHTS: usize = 6;

/// Cache lines of a sheet.
const SHEET_LINES: usize = size_of::<Sheet>() / 64;

/// No sheet.
const NONE: u32 = u32::MAX;

/// Some flights of one page, in the order in which they went in.
#[derive(Debug)]
#[repr(C, align(64))]
struct Sheet {
    flights: [Flight; FLIGHTS],
    used: u32,
    /// The page's next sheet, after its last one the first again; of those not in use the next one.
    next: u32,
}

/// Flights by page, and which pages have any.
#[derive(Debug)]
struct Pages {
    /// The last sheet of each.
    last: Box<[u32]>,
    /// A bit for each page that has any.
    filled: [u64; PAGES / 64],
    /// A bit for each of those numbers that is not zero.
    any: u64,
}

impl Pages {
    fn new() -> Pages {
        Pages {
            last: vec![NONE; PAGES].into(),
            filled: [0; PAGES / 64],
            any: 0,
        }
    }

    /// The first page from `page` on, below [`PAGES`], that has any.
    #[inline]
    fn next(&self, page: usize) -> Option<usize> {
        let word = page / 64;
        let here = *self.filled.get(word)? >> (page % 64);
        if here != 0 {
            return Some(page + here.trailing_zeros() as usize);
        }
        let after = self.any.checked_shr(word as u32 + 1).unwrap_or(0);
        if after == 0 {
            return None;
        }
        let word = word + 1 + after.trailing_zeros() as usize;
        Some(word * 64 + self.filled[word].trailing_zeros() as usize)
    }

    /// The last sheet of a page, which then has none.
    #[inline]
    fn take(&mut self, page: usize) -> u32 {
        let word = page / 64;
        self.filled[word] &= !(1 << (page % 64));
        if self.filled[word] == 0 {
            self.any &= !(1 << word);
        }
        std::mem::replace(&mut self.last[page], NONE)
    }
}

/// Sheets, each on some page or free. The one freed last is used next, as it is still in the cache.
#[derive(Debug)]
struct Sheets {
    sheets: Vec<Sheet>,
    free: u32,
}

impl Sheets {
    #[inline(always)]
    fn push(&mut self, pages: &mut Pages, page: usize, flight: Flight) {
        let last = pages.last[page];
        if let Some(sheet) = self.sheets.get_mut(last as usize) {
            let used = sheet.used as usize;
            if let Some(place) = sheet.flights.get_mut(used) {
                *place = flight;
                sheet.used += 1;
                return;
            }
        }
        self.push_on_new(pages, page, flight);
    }

    #[inline]
    fn push_on_new(&mut self, pages: &mut Pages, page: usize, flight: Flight) {
        let last = pages.last[page];
        let new = self.free;
        let new = if let Some(sheet) = self.sheets.get_mut(new as usize) {
            self.free = sheet.next;
            new
        } else {
            huge_pages::make_room(&mut self.sheets);
            self.sheets.push(Sheet {
                flights: [Flight::NONE; FLIGHTS],
                used: 0,
                next: NONE,
            });
            u32::try_from(self.sheets.len() - 1).expect("fewer than 2^32 packets under way")
        };
        let first = if last == NONE {
            pages.filled[page / 64] |= 1 << (page % 64);
            pages.any |= 1 << (page / 64);
            new
        } else {
            std::mem::replace(&mut self.sheets[last as usize].next, new)
        };
        let sheet = &mut self.sheets[new as usize];
        sheet.flights[0] = flight;
        sheet.used = 1;
        sheet.next = first;
        pages.last[page] = new;
    }

    /// Tells of each flight on the sheets of a page, given its last one, and frees them.
    #[inline(always)]
    fn take(&mut self, last: u32, mut each: impl FnMut(&mut Sheets, &Flight)) {
        let Some(mut next) = self.sheets.get(last as usize).map(|sheet| sheet.next) else {
            return;
        };
        loop {
            let number = next;
            let used = self.sheets[number as usize].used as usize;
            for index in 0..used {
                let flight = self.sheets[number as usize].flights[index];
                each(self, &flight);
            }
            let sheet = &mut self.sheets[number as usize];
            next = std::mem::replace(&mut sheet.next, self.free);
            sheet.used = 0;
            self.free = number;
            if number == last {
                return;
            }
        }
    }
}

/// Flights of one day by the hour, and of the following ones by the day.
#[derive(Debug)]
pub(crate) struct Days {
    hours: Pages,
    days: Pages,
    sheets: Sheets,
}

impl Days {
    pub fn new() -> Days {
        Days {
            hours: Pages::new(),
            days: Pages::new(),
            sheets: Sheets {
                sheets: Vec::new(),
                free: NONE,
            },
        }
    }

    /// Puts a flight down for an hour of the present day.
    #[inline(always)]
    pub fn push_hour(&mut self, hour: u64, flight: Flight) {
        self.sheets
            .push(&mut self.hours, hour as usize % PAGES, flight);
    }

    /// Puts a flight down for a later day, fewer than [`PAGES`] ahead.
    #[inline]
    pub fn push_day(&mut self, day: u64, flight: Flight) {
        self.sheets
            .push(&mut self.days, day as usize % PAGES, flight);
    }

    /// The first hour of `day` from `hour` on that has any flights.
    #[inline]
    pub fn next_hour(&self, hour: u64, day: u64) -> Option<u64> {
        let begin = day << HOURS_LOG2;
        let page = self.hours.next((hour - begin) as usize)?;
        Some(begin + page as u64)
    }

    /// Begins to fetch the flights of the next `pages` hours of `day` from `hour` on that have any.
    #[inline]
    pub fn prefetch_hours(&self, mut hour: u64, day: u64, pages: usize) {
        for _ in 0..pages {
            let Some(next) = self.next_hour(hour, day) else {
                return;
            };
            let last = self.hours.last[next as usize % PAGES];
            if let Some(sheet) = self.sheets.sheets.get(last as usize) {
                prefetch(sheet, SHEET_LINES);
            }
            hour = next + 1;
        }
    }

    /// The first day after `day` that has any flights.
    pub fn next_day(&self, day: u64) -> Option<u64> {
        let page = day as usize % PAGES;
        let ahead = match self.days.next(page + 1) {
            Some(next) => next - page,
            None => self.days.next(0)? + PAGES - page,
        };
        Some(day + ahead as u64)
    }

    /// Takes out the flights of an hour of the present day, in the order in which they went in.
    #[inline]
    pub fn take_hour(&mut self, hour: u64, into: &mut Vec<Flight>) {
        let last = self.hours.take(hour as usize % PAGES);
        self.sheets.take(last, |_, flight| into.push(*flight));
    }

    /// Makes `day` the present one, by the hour of each of its flights. The one before has none left.
    pub fn turn_to(&mut self, day: u64, hour: impl Fn(&Flight) -> u64) {
        let last = self.days.take(day as usize % PAGES);
        let hours = &mut self.hours;
        self.sheets.take(last, |sheets, flight| {
            sheets.push(hours, hour(flight) as usize % PAGES, *flight);
        });
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        // Sheets not in use have no flights.
        let sheets = self.sheets.sheets.iter();
        sheets.flat_map(|sheet| &sheet.flights[..sheet.used as usize])
    }
}
