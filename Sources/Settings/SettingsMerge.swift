extension SettingsTable {
    /// The new settings with the old values of those that need a restart, and the names of those that differ.
    package static func merge(_ new: Settings, into old: Settings) -> (settings: Settings, ignored: [String]) {
        var settings = new
        var ignored: [String] = []
        for setting in all where setting.needsRestart {
            let kept = setting.get(old)
            guard setting.get(new) != kept else { continue }
            setting.set(&settings, kept)
            ignored.append(setting.name)
        }
        return (settings, ignored)
    }
}
