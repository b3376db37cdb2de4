import Foundation
import Settings
import Testing

/// The ends of ranges, lists, and amounts at the boundaries of their units.
@Suite struct SettingRangeTests {
    /// True for each source that accepts a value: the text of a flag, and the file.
    private func isTaken(_ setting: Setting, _ text: String) -> [Bool] {
        var byFlag = SettingsLoader()
        byFlag.set(setting, text: text, origin: "flag")
        var byFile = SettingsLoader()
        byFile.load(json5: Data("{ \(setting.name): \(text) }".utf8), from: "file")
        return [byFlag.problems == [], byFile.problems == []]
    }

    @Test(
        "the ends of a setting's range are accepted and values beyond refused, by flag and by file",
        arguments: SettingsTable.all.map(\.name))
    func theEndsOfItsRangeAreTaken(_ name: String) throws {
        let setting = try #require(SettingsTable.setting(named: name))
        let inside: [String], outside: [String]
        switch setting.kind {
        case .integer(let range), .automaticInteger(let range), .bytes(let range), .automaticBytes(let range):
            inside = ["\(range.lowerBound)", "\(range.upperBound)"]
            outside =
                ["\(range.lowerBound - 1)"] + (range.upperBound < 1 << 60 ? ["\(range.upperBound + 1)"] : [])
        case .duration(let range), .automaticDuration(let range), .number(let range):
            inside = ["\(range.lowerBound)", "\(range.upperBound)"]
            // Integers are parsed differently.
            let whole = ["\(Int(range.upperBound.rounded(.down)) + 1)", "\(Int(range.lowerBound.rounded(.up)) - 1)"]
            outside = ["\(range.lowerBound - 0.001)", "\(range.upperBound * 1.001 + 0.001)"] + whole
        default: return
        }
        for text in inside { #expect(isTaken(setting, text) == [true, true], "\(name): \(text)") }
        for text in outside { #expect(isTaken(setting, text) == [false, false], "\(name): \(text)") }
    }

    /// One setting of each kind that has an automatic value.
    @Test("the word auto is accepted exactly by the settings that have an automatic value")
    func automaticIsAWordOfSomeSettingsOnly() {
        for setting in SettingsTable.all {
            let isAutomatic =
                switch setting.kind {
                case .automaticInteger, .automaticBytes, .automaticDuration: true
                default: false
                }
            guard setting.kind.value(of: "auto") == .automatic || isAutomatic else { continue }
            #expect(isAutomatic && setting.kind.value(of: "auto") == .automatic, "\(setting.name)")
        }
    }

    @Test("booleans, lists, choices and integers are parsed from text or refused")
    func value_everyForm_isParsedOrRefused() {
        for text in ["true", "yes", "on", "1"] { #expect(SettingKind.bool.value(of: text) == .bool(true)) }
        for text in ["false", "no", "off", "0"] { #expect(SettingKind.bool.value(of: text) == .bool(false)) }
        #expect(SettingKind.bool.value(of: "TRUE?") == nil)
        #expect(SettingKind.strings.value(of: "a,b,,c") == .strings(["a", "b", "c"]))
        #expect(SettingKind.string.value(of: "a,b") == .string("a,b"))
        #expect(SettingKind.choice(["a", "b"]).value(of: "b") == .string("b"))
        #expect(SettingKind.choice(["a", "b"]).value(of: "c") == nil)
        #expect(SettingKind.choices(["a", "b"], atLeast: 1).value(of: "b,a") == .strings(["b", "a"]))
        #expect(SettingKind.choices(["a", "b"], atLeast: 1).value(of: "b,c") == nil)
        #expect(SettingKind.choices(["a", "b"], atLeast: 1).value(of: "") == nil)
        #expect(SettingKind.choices(["a", "b"], atLeast: 0).value(of: "") == .strings([]))
        #expect(SettingKind.integer(1...9).value(of: "3.0") == nil)
    }

    @Test("a list flag given again adds to the list or replaces it, and a file replaces the list")
    func aListsFlagMayComeSeveralTimes() throws {
        let models = try #require(SettingsTable.setting(named: "models"))
        var loader = SettingsLoader()
        loader.set(models, text: "a,b", origin: "flag")
        loader.set(models, text: "c", origin: "flag", appending: true)
        #expect(models.get(loader.settings) == .strings(["a", "b", "c"]))
        loader.set(models, text: "d", origin: "flag")
        #expect(models.get(loader.settings) == .strings(["d"]))
        loader.load(json5: Data("{ models: [\"e\", \"f\"], top: 3 }".utf8), from: "file")
        #expect(models.get(loader.settings) == .strings(["e", "f"]))
        loader.load(json5: Data("{ models: \"g\" }".utf8), from: "file")
        #expect(models.get(loader.settings) == .strings(["g"]))
        #expect(loader.problems == [] && loader.given == ["models", "top"])
        loader.load(json5: Data("{ models: [\"h\", 7] }".utf8), from: "file")
        #expect(loader.problems.count == 1 && models.get(loader.settings) == .strings(["g"]))
    }

    /// Strings in place of numbers in the file: common for amounts and times, a mistake for numbers.
    @Test("sizes and times may be quoted in the file, integers and booleans may not")
    func numbersInQuotes() {
        func problems(_ json: String) -> Int {
            var loader = SettingsLoader()
            loader.load(json5: Data(json.utf8), from: "file")
            return loader.problems.count
        }
        #expect(problems("{ max_body: \"1MiB\" }") == 0)
        #expect(problems("{ max_body: 1048576 }") == 0)
        #expect(problems("{ deadline: \"1500ms\" }") == 0)
        #expect(problems("{ deadline: 1.5 }") == 0)
        #expect(problems("{ top: \"3\" }") == 1)
        #expect(problems("{ access_log: \"true\" }") == 1)
        #expect(problems("{ top: 3.5 }") == 1)
    }

    @Test(
        "an amount of memory is written with its largest unit",
        arguments: [
            (0, "0B"), (1_023, "1023B"), (1_024, "1KiB"), (1_536, "1.5KiB"), (1 << 20, "1MiB"),
            ((1 << 20) - 1, "1024.0KiB"),
            (3 << 30, "3GiB"), (1 << 40, "1TiB"),
        ])
    func amountsOfMemory(_ count: Int, _ text: String) {
        #expect(Units.bytes(count) == text)
    }

    @Test(
        "a duration is written with its unit and read back the same",
        arguments: [
            (0, "0s"), (0.001, "1ms"), (0.25, "250ms"), (1, "1s"), (1.5, "1.5s"), (90, "90s"), (119, "119s"),
            (120, "2m"),
            (150, "150s"), (3_540, "59m"), (3_600, "1h"), (5_400, "90m"), (86_400, "24h"),
        ])
    func duration_writtenAndParsed_isTheSame(_ seconds: Double, _ text: String) {
        #expect(Units.duration(seconds) == text)
        #expect(Units.parseDuration(text) == seconds)
    }

    @Test("sizes and durations at the borders of their ranges are parsed or refused")
    func amountsAtTheirBorders() {
        #expect(Units.parseBytes("4194303TiB") == 4_194_303 << 40)
        #expect(Units.parseBytes("4194304TiB") == nil)
        #expect(Units.parseBytes(" 2 MB ") == nil && Units.parseBytes(" 2 MB") == 2_000_000)
        #expect(Units.parseBytes("1.5B") == 2 && Units.parseBytes("3GB") == 3_000_000_000)
        #expect(Units.parseBytes("0") == 0 && Units.parseBytes("inf") == nil && Units.parseBytes("") == nil)
        #expect(Units.parseDuration("-1s") == nil && Units.parseDuration("0") == 0)
        #expect(Units.parseDuration("1.5 m") == 90 && Units.parseDuration("infs") == nil)
    }

    @Test("numbers are written rounded to fixed decimal places")
    func numbersWithFixedPlaces() {
        #expect(Units.decimal(-0.04, places: 1) == "0.0")
        #expect(Units.decimal(2.5, places: 0) == "3" && Units.decimal(-2.5, places: 0) == "-3")
        #expect(Units.decimal(0.05, places: 3) == "0.050" && Units.decimal(9.9996, places: 3) == "10.000")
        #expect(Units.decimal(1, places: 9) == "1.000000" && Units.decimal(1.4, places: -1) == "1")
        #expect(Units.decimal(0.99996, places: 4) == "1.0000" && Units.decimal(0.000044, places: 5) == "0.00004")
        #expect(Units.decimal(9e14, places: 3) == "900000000000000.000")
        #expect(Units.decimal(9e14, places: 6) == "900000000000000.0")
        #expect(Units.decimal(1e16, places: 1) == "1e+16" && Units.decimal(.infinity, places: 1) == "inf")
    }

    @Test("the settings document marks exactly the settings that need a restart")
    func theDocumentMarksWhatNeedsARestart() throws {
        let lines = SettingsDocument.markdown.split(separator: "\n")
        for setting in SettingsTable.all {
            let line = try #require(lines.first { $0.hasPrefix("| `\(setting.name)`") })
            #expect(line.hasPrefix("| `\(setting.name)` * |") == setting.needsRestart)
        }
    }
}
