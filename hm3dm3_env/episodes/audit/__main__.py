"""`python -m hm3dm3_env.episodes.audit`: see `run`."""

from hm3dm3_env.episodes.audit.run import main

if __name__ == "__main__":
    main()
