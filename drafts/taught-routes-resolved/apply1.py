import sys,re
root=sys.argv[1]
def sub(path, old, new, count=1):
    p=root+'/'+path; s=open(p).read()
    assert old in s, (path, old)
    s=s.replace(old,new,count); open(p,'w').write(s)
sub('Sources/Settings/Settings.swift','''    // HTTP.
''','''    // Taught models.
    package var taughtDirectory = ""
    package var taughtKeepPictures = false
    package var taughtKeepVersions = 10
    package var taughtMaxModels = 100
    package var taughtMaxClasses = 1_000
    package var taughtMaxExamples = 100_000
    package var taughtMaxBytes = 1 << 30

    // HTTP.
''')
sub('Sources/Settings/SettingsTable.swift','running, flow, pictures, http,','running, flow, pictures, teaching, http,')
sub('Sources/Settings/SettingsTable.swift','''    static let http = Group(
''','''    static let teaching = Group(
        title: "Taught models",
        settings: [
            .string(
                "taught_dir", \\.taughtDirectory,
                "Folder for models that clients teach (docs/teach.md), and for updated versions of Core ML models. It is created if need be, "
                    + "belongs to one daemon at a time, and must not be in a model folder. Empty: nothing can be taught."
            )
            .needingRestart,
            .bool(
                "taught_keep_pictures", \\.taughtKeepPictures,
                "Keep the pictures of examples, so that a taught model is rebuilt when its embedder changes. By default only their "
                    + "embeddings and digests are kept."),
            .integer(
                "taught_keep_versions", \\.taughtKeepVersions, 1...1000,
                "Versions of each taught model that are kept, to go back to. Older ones are dropped with the next change."),
            .integer(
                "taught_max_models", \\.taughtMaxModels, 1...10_000,
                "Maximum number of taught models. More get 507."),
            .integer(
                "taught_max_classes", \\.taughtMaxClasses, 1...100_000,
                "Maximum number of classes of a taught model. More get 507."),
            .integer(
                "taught_max_examples", \\.taughtMaxExamples, 1...10_000_000,
                "Maximum number of examples of a taught model. More get 507."),
            .bytes(
                "taught_max_bytes", \\.taughtMaxBytes, 1024...(1 << 42),
                "Maximum size of the files of all taught models together. What would need more gets 507."),
        ])

    static let http = Group(
''')
sub('Sources/Settings/SettingsTable.swift','?routes=infer,read,admin (any of them) limits an address to predictions, to models and metrics, or to the "\n                    + "model repository;','?routes=infer,read,admin,teach (any of them) limits an address to predictions, to models and metrics, to the "\n                    + "model repository, or to teaching;')
sub('Sources/Settings/SettingsTable.swift','grants (infer, read, admin, or all, "','grants (infer, read, admin, teach, or all, "')
sub('Sources/Settings/SettingsTable.swift','"Who may load and unload models by POST /v2/repository/models/NAME/load and .../unload: clients on this "','"Who may load and unload models by POST /v2/repository/models/NAME/load and .../unload, and, without tokens_file, teach: clients on this "')
sub('Sources/InferenceService/Routes/AccessClass.swift','''    case admin
''','''    case admin
    /// Changing taught models, and listing what they were taught.
    case teach
''')
sub('Sources/InferenceService/Access/TokenFile.swift','expected infer, read, admin or all','expected infer, read, admin, teach or all')
sub('Tests/InferenceServiceTests/TokenFileTests.swift','expected infer, read, admin or all','expected infer, read, admin, teach or all')
sub('Sources/InferenceService/Lifecycle/ListenPlan.swift','expected infer, read or admin, with commas','expected infer, read, admin or teach, with commas')
