import Foundation
import Settings
import TestSupport
import Testing

/// The table of settings, and the three sources of values.
@Suite struct SettingsTests {
    private func problems(_ json: String) -> [String] {
        var loader = SettingsLoader()
        loader.load(json5: Data(json.utf8), from: "test")
        return loader.problems
    }

    @Test("the names of settings are unique and of lower-case letters and underscores")
    func namesAreUniqueAndInOneSpelling() {
        let names = SettingsTable.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "_" } })
    }

    /// Each setting can be changed from its default by the file, a flag and the table itself.
    @Test("each setting can be set by flag, environment variable and file", arguments: SettingsTable.all.map(\.name))
    func setting_everySource_setsItsValue(name: String) throws {
        let setting = try #require(SettingsTable.setting(named: name))
        let text: String
        switch setting.kind {
        case .integer(let range), .automaticInteger(let range): text = "\(min(range.upperBound, range.lowerBound + 3))"
        case .bytes(let range), .automaticBytes(let range): text = "\(min(range.upperBound, range.lowerBound + 3000))"
        case .duration(let range), .automaticDuration(let range):
            text = "\(range.lowerBound + (range.upperBound - range.lowerBound) / 7)"
        case .number(let range): text = "\((range.lowerBound + range.upperBound) / 3)"
        case .bool: text = setting.get(Settings()) == .bool(true) ? "false" : "true"
        case .string, .strings: text = "another"
        case .addresses: text = "127.0.0.1:9"
        case .choices(let names, _): text = try #require(names.last)
        case .choice(let names): text = try #require(names.first { .string($0) != setting.get(Settings()) })
        }
        var byFlag = SettingsLoader()
        byFlag.set(setting, text: text, origin: "flag")
        #expect(byFlag.problems == [])
        #expect(setting.get(byFlag.settings) != setting.get(Settings()), "\(name) = \(text)")
        var byVariable = SettingsLoader()
        byVariable.load(environment: [setting.variable: text])
        #expect(byVariable.settings == byFlag.settings)
        var byFile = SettingsLoader()
        byFile.load(json5: Data("{ \(name): \(setting.text(in: byFlag.settings)) }".utf8), from: "file")
        #expect(byFile.problems == [])
        // Text is for users and may be rounded, but the parsed value must differ from the default.
        #expect(setting.get(byFile.settings) != setting.get(Settings()))
    }

    @Test("every mistake in the settings file is reported with the expected value")
    func mistakesInTheFileAreAllNamed() {
        #expect(problems("{ max_bodi: 1 }") == ["test: \"max_bodi\" is not a setting (did you mean \"max_body\"?)"])
        #expect(problems("{ top: \"many\", listen: 7 }").count == 2)
        #expect(problems("{ top: 0 }").first?.contains("from 1 to") == true)
        #expect(problems("{ overload_policy: \"wait\" }").first?.contains("\"drop_oldest\"") == true)
        #expect(problems("{ max_body: \"20 parsecs\" }").first?.contains("20MiB") == true)
        #expect(problems("{ access_log: 1 }").first?.contains("true or false") == true)
        #expect(problems("[1]").first?.contains("expected an object") == true)
        #expect(problems("{ top: ").first?.contains("not valid JSON5") == true)
        #expect(problems("{ /* a remark */ top: 3, }") == [])
    }

    /// Variables that Kubernetes sets for a service named `ocelli` are ignored; misspelled settings are reported.
    @Test("the variables of a Kubernetes service named ocelli are not settings")
    func aServiceLinkIsNotASetting() {
        func problems(_ environment: [String: String]) -> [String] {
            var loader = SettingsLoader()
            loader.load(environment: environment)
            return loader.problems + loader.warnings
        }
        let links = [
            "OCELLI_SERVICE_HOST": "10.0.0.7", "OCELLI_SERVICE_PORT": "80", "OCELLI_SERVICE_PORT_HTTP": "80",
            "OCELLI_PORT": "tcp://10.0.0.7:80", "OCELLI_PORT_80_TCP": "tcp://10.0.0.7:80",
            "OCELLI_PORT_80_TCP_PORT": "80",
            "OCELLI_PORT_80_TCP_PROTO": "tcp", "OCELLI_PORT_80_TCP_ADDR": "10.0.0.7",
            "OCELLI_BLUE_SERVICE_HOST": "10.0.0.8",
            "OCELLI_BLUE_PORT_53_UDP": "udp://10.0.0.8:53",
        ]
        #expect(problems(links) == [])
        for name in ["OCELLI_PORT", "OCELLI_PORTS", "OCELLI_PORT_80", "OCELLI_SERVICE", "OCELLI_TOPP"] {
            #expect(problems([name: "80"]).count == 1, "\(name)")
        }
    }

    /// Images, charts and harnesses have their own variables with the prefix, which must not prevent the daemon from
    /// starting.
    @Test("an unknown OCELLI_ variable is a warning that suggests the nearest setting")
    func anUnknownVariableIsAWarningThatNamesTheNearest() {
        var loader = SettingsLoader()
        loader.load(environment: ["OCELLI_TOPP": "3", "OCELLI_IMAGE_TAG": "1.2", "OCELLI_TOP": "4", "HOME": "/"])
        #expect(loader.problems == [] && loader.settings.top == 4)
        #expect(loader.warnings.count == 2, "\(loader.warnings)")
        #expect(loader.warnings.contains { $0.contains("\"OCELLI_TOPP\"") && $0.contains("OCELLI_TOP\"") })
        // An invalid value of a known variable is still an error.
        loader.load(environment: ["OCELLI_TOP": "many"])
        #expect(loader.problems.count == 1)
    }

    /// From a flag, a variable and the file; with a unit, or as large as bytes are, nothing is said.
    @Test("an amount without a unit that is hardly meant as bytes or seconds is a warning that names the units")
    func amountsWithoutUnitsAreDoubted() throws {
        func warnings(_ environment: [String: String] = [:], file: String = "{}") -> [String] {
            var loader = SettingsLoader()
            loader.load(json5: Data(file.utf8), from: "test")
            loader.load(environment: environment)
            #expect(loader.problems == [])
            return loader.warnings
        }
        let bytes = "40 has no unit and means 40 bytes: write 40MiB or 40KiB, or 40B if that is meant"
        #expect(warnings(["OCELLI_MAX_BODY": "40"]) == ["environment: OCELLI_MAX_BODY: \(bytes)"])
        #expect(warnings(file: "{ max_body: 40 }") == ["test: max_body: \(bytes)"])
        #expect(warnings(file: "{ max_total_decode: '40' }") == ["test: max_total_decode: \(bytes)"])
        var flags = SettingsLoader()
        flags.set(try #require(SettingsTable.setting(named: "max_body")), text: "1023", origin: "--max-body")
        #expect(flags.warnings.count == 1 && flags.settings.maxBody == 1023, "it is used nevertheless")
        #expect(
            warnings(["OCELLI_DEADLINE": "6000"]) == [
                "environment: OCELLI_DEADLINE: 6000 has no unit and means seconds (100m): write 6000ms, or 6000s if that is meant"
            ])
        #expect(warnings(file: "{ queue_wait: 3000 }").count == 1)
        for (name, text) in [
            ("MAX_BODY", "40B"), ("MAX_BODY", "1024"), ("MAX_BODY", "0.5KiB"), ("CACHE_SIZE", "0"), ("TOP", "40"),
            ("DEADLINE", "6000s"), ("DEADLINE", "5999"), ("DEADLINE", "0.5"), ("ANSWER_CACHE_AGE", "3600"),
            ("IDLE_UNLOAD", "86400"), ("MAX_TOTAL_BODY", "auto"),
        ] {
            #expect(warnings(["OCELLI_" + name: text]) == [], "\(name)=\(text)")
        }
    }

    /// The names of settings in other servers.
    @Test("a setting's name in another server gets a hint to the setting of Ocelli")
    func aNameOfAnotherServerNamesTheSetting() {
        var loader = SettingsLoader()
        loader.load(json5: Data("{ port: 9000, model_store: 'x' }".utf8), from: "file")
        loader.load(environment: [
            "OCELLI_WORKERS": "2", "OCELLI_PORT": "9000", "OCELLI_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        ])
        #expect(
            loader.problems == [
                "file: \"model_store\" is not a setting (did you mean \"models\"?)",
                "file: \"port\" is not a setting (did you mean \"listen\"?)",
            ])
        #expect(
            loader.warnings == [
                "environment: \"OCELLI_PORT\" is not a setting (did you mean \"OCELLI_LISTEN\"?); it is ignored",
                "environment: \"OCELLI_WORKERS\" is not a setting (did you mean \"OCELLI_THREADS\"?); it is ignored",
            ])
        for (here, elsewhere) in ForeignSettingNames.names {
            #expect(SettingsTable.setting(named: here) != nil, "\(here)")
            for name in elsewhere { #expect(SettingsTable.setting(named: name) == nil, "\(name) is a setting itself") }
        }
        #expect(
            ForeignSettingNames.setting(for: "--HTTP-Port")?.name == "listen"
                && ForeignSettingNames.setting(for: "--") == nil)
    }

    @Test("config/ocelli.json5 is the generated text and has the default settings")
    func theDocumentedFileIsTheTables() throws {
        let file = SharedData.packageRoot.appendingPathComponent("config/ocelli.json5")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text == ConfigurationText.json5, "run: .build/release/ocelli help config > config/ocelli.json5")
        var loader = SettingsLoader()
        loader.load(json5: Data(text.utf8), from: "file")
        #expect(loader.problems == [])
        #expect(loader.settings == Settings())
    }

    @Test("sizes and durations are parsed and written with their units")
    func amountsAndTimesAsPeopleWriteThem() {
        #expect(Units.parseBytes("20MiB") == 20 << 20)
        #expect(Units.parseBytes("1.5 KiB") == 1536)
        #expect(Units.parseBytes("10KB") == 10_000)
        #expect(Units.parseBytes("7") == 7)
        #expect(Units.parseBytes("-1") == nil)
        #expect(Units.parseBytes("nan") == nil)
        #expect(Units.parseBytes("1e30GiB") == nil)
        #expect(Units.parseDuration("500ms") == 0.5)
        #expect(Units.parseDuration("2m") == 120)
        #expect(Units.parseDuration("1h") == 3600)
        #expect(Units.parseDuration("30") == 30)
        #expect(Units.parseDuration("x") == nil)
        #expect(Units.bytes(20 << 20) == "20MiB")
        #expect(Units.duration(0.5) == "500ms")
        #expect(Units.decimal(1.005, places: 1) == "1.0")
        #expect(Units.decimal(-0.25, places: 2) == "-0.25")
        #expect(Units.decimal(0.007, places: 3) == "0.007")
    }
}
