"""`python -m templatelint` is the `templatelint` program."""

if __name__ == "__main__":
    try:
        from templatelint.cli.main import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()
