import Foundation
import InferenceService
import Settings
import TestSupport
import Testing

/// Every setting of the table does something: the real binary, started with it, shows its effect.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct EverySettingTests {
    static let trials: [SettingsTrial] = [
        .answers, .sharing, .pipelines, .quiet, .tokens, .proxies, .reports, .limits, .connections, .totals, .decoding,
        .queue,
        .length,
        .clients,
        .target,
        .policy, .delay,
        .timeout,
        .models, .named,
        .engine,
        .streams, .singleStream, .integerWeights, .device, .watched, .kept, .untried, .triedInLittleMemory,
        .triedForAMoment,
        .twoAtOnce, .teaching, .taughtBytes,
    ]

    @Test func everySettingOfTheTableIsOnTrial() {
        let checked = Self.trials.flatMap { $0.checks.map(\.key) }
        let missing = SettingsTable.all.map(\.name).filter { !checked.contains($0) }
        #expect(missing.isEmpty, "settings without a check: \(missing)")
        for trial in Self.trials {
            #expect(Set(trial.checks.map(\.key)) == Set(trial.settings.keys), "\(trial.title)")
        }
        let unknown = Self.trials.flatMap { Array($0.settings.keys) + Array($0.also.keys) }
            .filter { SettingsTable.setting(named: $0) == nil }
        #expect(unknown.isEmpty)
    }

    @Test(arguments: LongTests.every(2, of: trials)) func setting_changed_takesEffect(_ trial: SettingsTrial) throws {
        for (setting, finding) in try trial.run() {
            #expect(finding == nil, "\(setting) does nothing: \(finding ?? "")")
        }
    }

    /// SIGHUP: what needs no restart takes effect without one.
    @Test(arguments: LongTests.every(3, of: trials.filter { !$0.reloadable.isEmpty })) func takesEffectByReload(
        _ trial: SettingsTrial
    ) throws {
        for (setting, finding) in try trial.runByReload() {
            #expect(finding == nil, "\(setting) is not taken by a reload: \(finding ?? "")")
        }
    }

    /// The checks themselves: each notices when its setting is left out. Takes minutes.
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["PROVE_SETTINGS_CHECKS"] != nil,
            "asked for by name: `PROVE_SETTINGS_CHECKS=1 make test TESTS=EverySettingTests`"),
        arguments: trials)
    func withoutItsSettingEachCheckFails(_ trial: SettingsTrial) throws {
        for setting in trial.settings.keys.sorted() {
            for (_, finding) in try trial.run(omitting: setting) {
                #expect(finding != nil, "the check of \(setting) passes without it")
            }
        }
    }
}
