/// Dates in HTTP's format: IMF-fixdate, RFC 9110 section 5.6.7.
public enum HTTPDate {
    /// Appends a date of 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// - Parameter unixSeconds: seconds since 1970 in UTC without leap seconds; clamped to the years 0 to 9999, which
    ///   have four digits.
    public static func append(unixSeconds: Int64, to out: inout [UInt8]) {
        let seconds = min(max(unixSeconds, -62_167_219_200), 253_402_300_799)
        let days = floorDivide(seconds, 86_400)
        let time = seconds - days * 86_400
        let date = civil(daysSince1970: days)
        // 1970-01-01 was a Thursday, the fifth day of a week that starts on Sunday.
        let weekday = Int(days + 4 - floorDivide(days + 4, 7) * 7)
        appendName(of: weekday, from: "SunMonTueWedThuFriSat", to: &out)
        ResponseSerializer.append(", ", to: &out)
        appendDigits(date.day, 2, to: &out)
        out.append(ASCII.space)
        appendName(of: Int(date.month - 1), from: "JanFebMarAprMayJunJulAugSepOctNovDec", to: &out)
        out.append(ASCII.space)
        appendDigits(date.year, 4, to: &out)
        out.append(ASCII.space)
        appendDigits(time / 3600, 2, to: &out)
        out.append(ASCII.colon)
        appendDigits(time / 60 % 60, 2, to: &out)
        out.append(ASCII.colon)
        appendDigits(time % 60, 2, to: &out)
        ResponseSerializer.append(" GMT", to: &out)
    }

    /// A date as a string of 29 bytes.
    public static func string(unixSeconds: Int64) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(29)
        append(unixSeconds: unixSeconds, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The proleptic Gregorian date. Years start in March, so that the leap day is the last of its year, and are
    /// grouped in eras of 400 years with 146,097 days each.
    private static func civil(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = daysSince1970 + 719_468
        let era = floorDivide(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }

    private static func appendName(of index: Int, from names: StaticString, to out: inout [UInt8]) {
        out.append(contentsOf: UnsafeBufferPointer(start: names.utf8Start + index * 3, count: 3))
    }

    private static func appendDigits(_ number: Int64, _ count: Int, to out: inout [UInt8]) {
        var divisor: Int64 = count == 4 ? 1000 : 10
        while divisor > 0 {
            out.append(ASCII.zero &+ UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }
}
