import Settings
import Testing

/// The settings that a reload applies, and those that need a restart.
@Suite struct SettingsMergeTests {
    @Test("a reload of the same settings changes nothing")
    func sameSettingsChangeNothing() {
        let (settings, ignored) = SettingsTable.merge(Settings(), into: Settings())
        #expect(settings == Settings())
        #expect(ignored == [])
    }

    @Test("a reload applies the other settings and names those that need a restart")
    func theRestIsTakenAndWhatNeedsARestartIsNamed() {
        var new = Settings()
        new.top = 3
        new.maxHeader = 7_000
        new.listen = ["127.0.0.1:1"]
        new.logFormat = .json
        let (settings, ignored) = SettingsTable.merge(new, into: Settings())
        #expect(ignored.sorted() == ["listen", "max_header"])
        var expected = Settings()
        expected.top = 3
        expected.logFormat = .json
        #expect(settings == expected)
    }

    /// Each setting is applied or reported; none is ignored silently.
    @Test(
        "a changed setting is either applied by a reload or named as needing a restart",
        arguments: SettingsTable.all.map(\.name))
    func eachIsTakenOrNamed(_ name: String) throws {
        let setting = try #require(SettingsTable.setting(named: name))
        var new = Settings()
        let other: SettingValue =
            switch setting.get(Settings()) {
            case .integer(let value): .integer(value + 1)
            case .automatic: if case .automaticDuration = setting.kind { .number(2) } else { .integer(2) }
            case .number(let value): .number(value + 1)
            case .bool(let value): .bool(!value)
            case .string(let old):
                if case .choice(let names) = setting.kind {
                    .string(try #require(names.first { $0 != old }))
                } else {
                    .string("another")
                }
            case .strings(let old):
                if case .choices = setting.kind { .strings(old.dropLast()) } else { .strings(["another"]) }
            }
        setting.set(&new, other)
        let (settings, ignored) = SettingsTable.merge(new, into: Settings())
        let isTaken = setting.get(settings) == other
        #expect(isTaken != ignored.contains(name))
        #expect(isTaken || settings == Settings())
        #expect(isTaken != setting.needsRestart)
    }
}
