import Foundation
import Settings
import TestSupport
import Testing

/// Every setting of the table has an effect: the real binary, started with it, shows it.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct EverySettingTests {
    static let cases: [SettingsCase] = [
        .answers, .sharing, .drift, .pipelines, .readers, .quiet, .tokens, .proxies, .reports, .limits, .connections,
        .totals,
        .decoding,
        .shapes,
        .queue,
        .length,
        .clients,
        .target,
        .policy, .delay,
        .timeout,
        .models, .named,
        .engine,
        .streams, .singleStream, .integerWeights, .device, .onnxRuntime, .liteRT, .unconfirmed,
        .watched, .kept, .untried,
        .triedInLittleMemory, .triedForAMoment,
        .twoAtOnce, .teaching, .taughtBytes, .taughtPatches, .texts, .keeping, .keepRate,
    ]

    @Test("each setting of the table has a check here, and no case names an unknown setting")
    func everySettingOfTheTableHasACase() {
        let checked = Self.cases.flatMap { $0.checks.map(\.key) }
        let missing = SettingsTable.all.map(\.name).filter { !checked.contains($0) }
        #expect(missing.isEmpty, "settings without a check: \(missing)")
        for item in Self.cases {
            #expect(Set(item.checks.map(\.key)) == Set(item.settings.keys), "\(item.title)")
        }
        let unknown = Self.cases.flatMap { Array($0.settings.keys) + Array($0.also.keys) }
            .filter { SettingsTable.setting(named: $0) == nil }
        #expect(unknown.isEmpty)
    }

    @Test("each changed setting takes effect at start", arguments: LongTests.every(2, of: cases))
    func setting_changed_takesEffect(_ item: SettingsCase) throws {
        for (setting, finding) in try item.run() {
            #expect(finding == nil, "\(setting) does nothing: \(finding ?? "")")
        }
    }

    /// Settings that need no restart take effect on SIGHUP.
    @Test(
        "each setting that needs no restart takes effect on SIGHUP",
        arguments: LongTests.every(3, of: cases.filter { !$0.reloadable.isEmpty }))
    func takesEffectByReload(_ item: SettingsCase) throws {
        for (setting, finding) in try item.runByReload() {
            #expect(finding == nil, "\(setting) is not taken by a reload: \(finding ?? "")")
        }
    }

    /// Tests the checks themselves: each fails if its setting is omitted. Takes minutes.
    @Test(
        "each check of a setting fails where that setting is left out",
        .enabled(
            if: ProcessInfo.processInfo.environment["PROVE_SETTINGS_CHECKS"] != nil,
            "asked for by name: `PROVE_SETTINGS_CHECKS=1 make test TESTS=EverySettingTests`"),
        arguments: cases)
    func withoutItsSettingEachCheckFails(_ item: SettingsCase) throws {
        for setting in item.settings.keys.sorted() {
            for (_, finding) in try item.run(omitting: setting) {
                #expect(finding != nil, "the check of \(setting) passes without it")
            }
        }
    }
}
