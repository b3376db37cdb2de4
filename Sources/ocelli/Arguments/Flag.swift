internal import InferenceService
internal import Settings

/// A flag of a command: its names, its help, and its effect on the command's request. Commands have rows of flags like
/// the table of settings.
struct Flag<Request> {
    /// The names, e.g. `--output`, or `-o` and `--output`.
    let names: [String]
    /// The word for its value in the help, as in `--top N`; nil for a flag without a value.
    let value: String?
    /// The words that the value can be; empty for any value.
    private(set) var words: [String] = []
    /// The sentences in `ocelli help`.
    let help: String
    /// Applies the flag. Receives the flag as written and its value ("" for a flag without a value).
    let take: (inout Request, _ flag: String, _ value: String) throws -> Void

    init(
        _ name: String, _ value: String? = nil, _ help: String,
        take: @escaping (inout Request, _ flag: String, _ value: String) throws -> Void
    ) {
        names = name.split(separator: " ").map(String.init)
        (self.value, self.help, self.take) = (value, help, take)
    }
}

extension Flag {
    /// A flag without a value: sets the member to true, or to `value`.
    static func toggle(_ name: String, _ path: WritableKeyPath<Request, Bool>, to value: Bool = true, _ help: String)
        -> Flag
    {
        Flag(name, nil, help) { request, _, _ in request[keyPath: path] = value }
    }

    static func text(_ name: String, _ value: String, _ path: WritableKeyPath<Request, String?>, _ help: String) -> Flag
    {
        Flag(name, value, help) { request, _, text in request[keyPath: path] = text }
    }

    static func text(_ name: String, _ value: String, _ path: WritableKeyPath<Request, String>, _ help: String) -> Flag
    {
        Flag(name, value, help) { request, _, text in request[keyPath: path] = text }
    }

    /// A flag that may be given several times; the values are kept in order.
    static func texts(_ name: String, _ value: String, _ path: WritableKeyPath<Request, [String]>, _ help: String)
        -> Flag
    {
        Flag(name, value, help) { request, _, text in request[keyPath: path].append(text) }
    }

    /// A flag with an integer.
    static func number(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, Int?>, in range: ClosedRange<Int>,
        _ help: String
    ) -> Flag {
        Flag(name, value, help) { request, flag, text in request[keyPath: path] = try number(flag, text, range) }
    }

    static func number(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, Int>, in range: ClosedRange<Int>,
        _ help: String
    ) -> Flag {
        Flag(name, value, help) { request, flag, text in request[keyPath: path] = try number(flag, text, range) }
    }

    private static func number(_ flag: String, _ text: String, _ range: ClosedRange<Int>) throws -> Int {
        if let number = Int(text), range.contains(number) { return number }
        let expected =
            range.upperBound == .max
            ? "of \(range.lowerBound) or more" : "from \(range.lowerBound) to \(range.upperBound)"
        throw UsageError("\(flag): expected a whole number \(expected), found \"\(text)\"")
    }

    /// A flag with a number from 0 to 1.
    static func share<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, Number?>, _ help: String
    ) -> Flag {
        Flag(name, value, help) { request, flag, text in request[keyPath: path] = try share(flag, text) as Number }
    }

    static func share<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, Number>, _ help: String
    ) -> Flag {
        Flag(name, value, help) { request, flag, text in request[keyPath: path] = try share(flag, text) as Number }
    }

    private static func share<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ flag: String, _ text: String
    ) throws -> Number {
        // Exclude hexadecimal numbers, which Swift accepts.
        guard !text.contains(where: { $0 == "x" || $0 == "X" }), let share = Number(text), (0...1).contains(share)
        else {
            throw UsageError("\(flag): expected a number from 0 to 1, found \"\(text)\"")
        }
        return share
    }

    /// A flag with a number above 0, such as 1.2.
    static func positive(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, Double?>, _ help: String
    ) -> Flag {
        Flag(name, value, help) { request, flag, text in
            guard !text.contains(where: { $0 == "x" || $0 == "X" }), let number = Double(text), number > 0,
                number.isFinite
            else { throw UsageError("\(flag): expected a number above 0, found \"\(text)\"") }
            request[keyPath: path] = number
        }
    }

    /// A flag with a time in seconds, such as 500ms or 10s.
    static func duration(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, Double>, in range: ClosedRange<Double>,
        _ help: String
    ) -> Flag {
        Flag(name, value, help) { request, flag, text in
            guard let seconds = Units.parseDuration(text), range.contains(seconds) else {
                throw UsageError(
                    "\(flag): expected a time from \(Units.duration(range.lowerBound)) to "
                        + "\(Units.duration(range.upperBound)), found \"\(text)\"")
            }
            request[keyPath: path] = seconds
        }
    }

    /// A flag with one of some words.
    static func choice(
        _ name: String, _ value: String, _ path: WritableKeyPath<Request, String?>, of words: [String], _ help: String
    ) -> Flag {
        var row = Flag(name, value, help) { request, flag, text in
            guard words.contains(text) else {
                let expected = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
                throw UsageError("\(flag): expected \(expected), found \"\(text)\"")
            }
            request[keyPath: path] = text
        }
        row.words = words
        return row
    }
}

// MARK: Flags that several commands have, with the same meaning in each

extension Flag {
    static func json(_ path: WritableKeyPath<Request, Bool>, _ help: String) -> Flag { .toggle("--json", path, help) }

    /// The flag for how pictures are fitted.
    static func crop(_ path: WritableKeyPath<Request, String?>) -> Flag {
        .choice(
            "--crop", "MODE", path, of: ["center", "fit", "fill"],
            "How pictures are fitted: center, fit or fill. Default: the bundle's.")
    }

    /// The flag for how pictures are stored.
    static func orientation(_ path: WritableKeyPath<Request, ImageOrientation>) -> Flag {
        var row = Flag(
            "--orientation", "HOW",
            """
            How pictures are stored: apply or ignore the orientation in the file, or in its place a number from 1 to 8 as in \
            EXIF, or up, up_mirrored, down, down_mirrored, left_mirrored, right, right_mirrored or left for 1 to 8. \
            Default: apply.
            """
        ) { request, flag, text in
            guard let orientation = ImageOrientation(text: text) else {
                throw UsageError("\(flag): expected \(ImageOrientation.expected), found \"\(text)\"")
            }
            request[keyPath: path] = orientation
        }
        row.words = ImageOrientation.texts
        return row
    }
}
